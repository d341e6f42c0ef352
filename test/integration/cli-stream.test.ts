// drover logs, record and check as processes on the built service.

import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import type { StreamEvent } from '../../src/client/index.js';
import { type CliOptions, type CliRun, runCli, startCli } from '../harness/cli.js';
import { skipWithout } from '../harness/needs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const BOTS = [{ id: 'busy', kind: 'synthetic' }];

/** Shared by the tests that do not change it. */
let shared: Service;
/** Belongs to a single test. */
let service: Service | undefined;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  shared = await startService({ demo: true, config: { bots: BOTS } });
});
afterAll(() => stopClean(shared));
beforeEach(async () => {
  home = makeDir();
  env = await environmentOf(shared);
});
afterEach(async () => {
  await stopClean(service);
  service = undefined;
  removeDir(home);
});

const environmentOf = async ({ url, token }: Service): Promise<Record<string, string>> => ({
  DROVER_URL: url,
  DROVER_TOKEN: await token(),
});

async function start(options: Parameters<typeof startService>[0] = {}): Promise<Service> {
  service = await startService({ demo: true, ...options });
  env = await environmentOf(service);
  return service;
}

const run = (args: string[], options: CliOptions = {}): CliRun =>
  startCli(home, args, { ...options, env: { ...env, ...options.env } });
const drover = (args: string[], options: CliOptions = {}) =>
  runCli(home, args, { ...options, env: { ...env, ...options.env } });

const until = (fits: () => boolean) => expect.poll(fits).toBe(true);
const linesOf = ({ stdout }: { stdout(): string }): string[] => stdout().split('\n').slice(0, -1);
const LINE = /^\d\d:\d\d:\d\d\.\d{3} (info|warn|error|state) {2,4}\S+ \S+ .*$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the test looks for colours
const ESCAPE = /\u001b/;

describe('logs -f', () => {
  it('follows the selected lines, without colours, and exits with 0 on Ctrl-C', async () => {
    const logs = run(['logs', '-f', '--bot', 'demo-1', '--scope', 'tcp']);
    await until(() => linesOf(logs).length >= 4);
    logs.child.kill('SIGINT');
    expect(await logs.ended).toMatchObject({ code: 0, stderr: '' });
    for (const line of linesOf(logs)) {
      expect(line).toMatch(LINE);
      expect(line).toMatch(/ demo-1 tcp {2,3}[<>] /);
    }
    expect(logs.stdout()).not.toMatch(ESCAPE);
  });

  it('prints colours on request, except with NO_COLOR or --no-color', async () => {
    const first = async (args: string[], more: Record<string, string>): Promise<string> => {
      const logs = run(['logs', '-f', ...args], { env: more });
      await until(() => linesOf(logs).length > 0);
      logs.child.kill('SIGTERM');
      return (await logs.ended).stdout;
    };
    const color = { FORCE_COLOR: '1' };
    expect(await first([], color)).toMatch(ESCAPE);
    expect(await first(['--no-color'], color)).not.toMatch(ESCAPE);
    expect(await first([], { ...color, NO_COLOR: '1' })).not.toMatch(ESCAPE);
  });

  it('continues after a restart of the service, reports it, and prints no event twice', async () => {
    const dataDir = makeDir();
    const options = { dataDir, port: await freePort() };
    try {
      const first = await start(options);
      const logs = run(['logs', '-f', '--json', '--kind', 'log,session']);
      await until(() => linesOf(logs).length >= 5);
      await first.kill();
      await until(() => logs.stderr().includes('retrying in'));
      await start(options);
      const before = linesOf(logs).length;
      await until(() => linesOf(logs).length > before + 10);
      logs.child.kill('SIGINT');
      expect((await logs.ended).code).toBe(0);
      expect(logs.stderr()).toMatch(
        /^drover: [^\n]+; retrying in [^\n]+\n(drover: [^\n]+; retrying in [^\n]+\n)*drover: reconnected\n$/,
      );
      const events = linesOf(logs).map((line) => JSON.parse(line) as StreamEvent);
      const ids = events.map(({ id }) => id).filter((id) => id !== null);
      expect(new Set(ids).size).toBe(ids.length);
    } finally {
      removeDir(dataDir);
    }
  });

  it('exits with one error line when its token is revoked', async () => {
    const token = (await drover(['tokens', 'create', 'brief', '--scope', 'read'])).stdout.trim();
    const logs = run(['logs', '-f', '--token', token]);
    await until(() => linesOf(logs).length > 0);
    await drover(['tokens', 'revoke', '--current', '--token', token]);
    const { code, stderr } = await logs.ended;
    expect(code).toBe(EXIT.not_allowed);
    expect(stderr).toMatch(
      /drover: invalid token; log in with drover login, and unset DROVER_TOKEN, which overrides the profile\n$/,
    );
  });

  it('exits without an error when its output pipe is closed', async () => {
    const logs = run(['logs', '-f']);
    await once(logs.child.stdout as NodeJS.ReadableStream, 'data');
    logs.child.stdout?.destroy();
    expect(await logs.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('escapes control characters in lines', async () => {
    await drover(['wait', 'demo-1', '--status', 'in_world']);
    const logs = run(['logs', '-f', '-g', 'SAY{TEXT']);
    const json = run(['logs', '-f', '-g', 'SAY{TEXT', '--json']);
    const text = 'bell \u0007 title \u001b]0;owned\u0007 csi \u009b31m';
    // Repeats until both have printed it: nothing tells when their streams are open.
    for (let at = 0; !linesOf(logs).some(owned) || !linesOf(json).some(owned); at++) {
      expect(at).toBeLessThan(200);
      await drover(['invoke', 'demo-1', 'say', JSON.stringify({ text })]);
    }
    for (const { stdout } of [logs, json]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain these
      expect(stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    }
    const line = linesOf(json).find(owned) as string;
    const event = JSON.parse(line) as StreamEvent & { event: 'log' };
    expect(event.data.message).toContain('owned');
    for (const one of linesOf(logs)) expect(one.toLowerCase()).toContain('say{text');
  });

  const owned = (line: string): boolean => line.includes('owned');
});

describe('record and check', () => {
  it('records the run of a command up to its last line, and checks it', async () => {
    await start();
    const file = path.join(home, 'run.ndjson');
    const script = `
      const { execFileSync } = require('node:child_process');
      const drover = (...args) => execFileSync(process.execPath, [process.env.CLI, ...args], { stdio: 'inherit' });
      drover('wait', 'demo-1', '--status', 'in_world');
      drover('invoke', 'demo-1', 'say', 'text=recorded');
      process.exit(3);
    `;
    const cli = new URL('../../dist/src/cli/main.js', import.meta.url).pathname;
    const recorded = await drover(['record', file, '--', process.execPath, '-e', script], {
      env: { CLI: cli },
    });
    expect(recorded.code, recorded.stderr).toBe(3);
    const lines = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const [head, ...events] = lines as [Record<string, unknown>, ...Record<string, unknown>[]];
    const { data: end, ...line } = events.pop() ?? {};
    expect(line).toEqual({ at_ms: expect.any(Number), event: 'end' });
    expect(end).toEqual({
      by: 'command',
      run_ms: expect.any(Number),
      events: events.length,
      gaps: 0,
      disconnects: 0,
      missing: null,
    });
    expect(head).toEqual({
      drover_recording: 1,
      started_at_ms: expect.any(Number),
      url: service?.url,
      filter: null,
    });
    expect(recorded.stderr).toContain(`drover: recorded ${events.length} events to ${file}\n`);
    const dispatched = events.filter(
      ({ data }) => (data as { scope?: string }).scope === 'dispatch',
    );
    expect(dispatched.map(({ data }) => (data as { message: string }).message)).toContain(
      'say -> {"said":"recorded"}',
    );

    // The recorder sends a command to find the end of the run; that command is not recorded.
    const quiet = path.join(home, 'quiet.ndjson');
    expect((await drover(['record', quiet, '--', process.execPath, '-e', ''])).code).toBe(0);
    expect(readFileSync(quiet, 'utf8')).not.toContain('ping');

    const junit = path.join(home, 'junit.xml');
    const json = path.join(home, 'report.json');
    const good = await drover([
      'check',
      file,
      '--expect',
      'bot demo-1 in_world within 60s',
      '--expect',
      'line "recorded" of demo-1',
      '--no-errors',
      '--no-gaps',
      '--at-least',
      '3',
      '--junit',
      junit,
      '--json',
      json,
    ]);
    expect(good, good.stdout).toMatchObject({ code: 0, stderr: '' });
    expect(good.stdout).toMatch(/^ok {4}bot demo-1 in_world within 60s: happened after \S+$/m);
    expect(good.stdout).toMatch(/^5 of 5 expectations met, \d+ events$/m);
    expect(JSON.parse(readFileSync(json, 'utf8'))).toMatchObject({
      source: file,
      passed: true,
      events: events.length,
    });
    expect(readFileSync(junit, 'utf8')).toContain('<testsuites tests="5" failures="0" errors="0"');

    const rules = path.join(home, 'rules.json');
    writeFileSync(
      rules,
      JSON.stringify(['bot demo-1 never in_world', 'no line "<recorded>" of demo-1']),
    );
    const bad = await drover(['check', file, '--rules', rules, '--json', '-', '--junit', junit]);
    expect(bad.code).toBe(EXIT.not_as_expected);
    expect(bad.stderr).toBe('drover: some expectations were not met\n');
    const { expectations } = JSON.parse(bad.stdout) as { expectations: { passed: boolean }[] };
    expect(expectations.map(({ passed }) => passed)).toEqual([false, true]);
    expect(readFileSync(junit, 'utf8')).toMatch(
      /name="bot demo-1 never in_world" time="[\d.]+">\n +<failure message="demo-1 was in_world after/,
    );
    expect(readFileSync(junit, 'utf8')).toContain(
      'name="no line &quot;&lt;recorded&gt;&quot; of demo-1"',
    );

    // Filtered to one bot, as a stream would be.
    const filtered = await drover([
      'check',
      file,
      '--bot',
      'demo-2',
      '--expect',
      'no line "recorded" of demo-1',
    ]);
    expect(filtered.code).toBe(0);
    const again = await drover(['record', file, '--for', '1s']);
    expect(again).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining('replace it with --force'),
    });
    const forced = await drover(['record', file, '--for', '300ms', '--force', '--bot', 'nobody']);
    expect(forced).toMatchObject({ code: 0, stderr: `drover: recorded 0 events to ${file}\n` });
    const none = path.join(home, 'x.ndjson');
    const missing = await drover(['record', none, '--', '/nowhere/program']);
    expect(missing).toMatchObject({
      code: EXIT.usage,
      stderr: expect.stringContaining('cannot run /nowhere/program'),
    });
    expect(existsSync(none)).toBe(false);
  });

  it('records until Ctrl-C, and forwards signals to its command', async () => {
    const file = path.join(home, 'run.ndjson');
    const recording = run(['record', file, '--kind', 'log']);
    await until(() => readIfThere(file).split('\n').length > 5);
    recording.child.kill('SIGINT');
    expect((await recording.ended).code).toBe(0);
    expect(readIfThere(file).endsWith('\n')).toBe(true);
    const waiting =
      "console.log('here'); process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000)";
    const other = run(['record', file, '--force', '--', process.execPath, '-e', waiting]);
    await until(() => other.stdout().includes('here'));
    other.child.kill('SIGTERM');
    expect((await other.ended).code).toBe(9);
  });

  it('reports a full disk', async (context) => {
    skipWithout(context, existsSync('/dev/full'), '/dev/full, which Linux has');
    const recording = await drover(['record', '/dev/full', '--force']);
    expect(recording).toMatchObject({
      code: EXIT.failed,
      stderr: expect.stringMatching(/^drover: cannot write to \/dev\/full: ENOSPC/),
    });
    expect(recording.stderr.trim().split('\n')).toHaveLength(1);
  });

  it('check --live checks a running service', async () => {
    const met = await drover([
      'check',
      '--live',
      '--expect',
      'bot demo-1 in_world within 60s',
      '--expect',
      'at least 1 events of demo-1',
    ]);
    expect(met, met.stdout).toMatchObject({ code: 0 });
    const late = await drover([
      'check',
      '--live',
      '--expect',
      'bot demo-1 nowhere within 1s',
      '--no-gaps',
    ]);
    expect(late.code).toBe(EXIT.not_as_expected);
    expect(late.stdout).toMatch(/^FAIL {2}bot demo-1 nowhere within 1s: did not happen$/m);
    expect(late.stdout).toMatch(/^ok {4}no gaps: never happened$/m);
    const whole = await drover(['check', '--live', '--for', '4s', '--expect', 'at most 0 events']);
    expect(whole.code).toBe(EXIT.not_as_expected);
  });

  function readIfThere(file: string): string {
    try {
      return readFileSync(file, 'utf8');
    } catch {
      return '';
    }
  }
});
