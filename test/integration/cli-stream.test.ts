// drover logs, record and check on the built service: what they print, on a terminal too, and what they record.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  onTestFinished,
  vi,
} from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { DroverClient, type StreamEvent } from '../../src/client/index.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { type CliOptions, type CliRun, runCli, startCli, startCliHere } from '../harness/cli.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { startPathProxy } from '../harness/path-proxy.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));
const BUSY = { id: 'busy', kind: 'synthetic', config: { events_per_second: 20 } };

/** Shared by all tests. */
let service: Service;
let client: DroverClient;
let home: string;
let env: Record<string, string>;

beforeAll(async () => {
  service = await startService({
    demo: true,
    config: { bots: [BUSY], kinds: [FIXTURE_KINDS] },
  });
  client = new DroverClient({ url: service.url, token: await service.token() });
  env = { DROVER_URL: service.url, DROVER_TOKEN: await service.token() };
});
afterAll(() => stopClean(service));
beforeEach(() => {
  home = makeDir();
});
afterEach(() => removeDir(home));

const run = (args: string[], options: CliOptions = {}): CliRun =>
  startCli(home, args, { ...options, env: { ...env, ...options.env } });
/** The same in this process. */
const here = (args: string[], options: CliOptions = {}) =>
  startCliHere(home, args, { ...options, env: { ...env, ...options.env } });
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
      const logs = here(['logs', '-f', ...args], { env: more });
      await until(() => linesOf(logs).length > 0);
      await logs.interrupt();
      return logs.stdout();
    };
    const color = { FORCE_COLOR: '1' };
    expect(await first([], color)).toMatch(ESCAPE);
    expect(await first(['--no-color'], color)).not.toMatch(ESCAPE);
    expect(await first([], { ...color, NO_COLOR: '1' })).not.toMatch(ESCAPE);
  });

  it('exits with one error line when its token is revoked', async () => {
    const token = (await drover(['tokens', 'create', 'brief', '--scope', 'read'])).stdout.trim();
    const logs = here(['logs', '-f', '--token', token]);
    await until(() => linesOf(logs).length > 0);
    await client.withToken(token).tokens.revokeCurrent();
    const { code, stderr } = await logs.ended;
    expect(code).toBe(EXIT.not_allowed);
    expect(stderr).toMatch(
      /drover: invalid token; log in with drover login, and unset DROVER_TOKEN, which overrides the profile\n$/,
    );
  });

  it.each([
    ['--label', 'team=a'],
    ['--kind', 'faulty'],
    ['--status', 'online'],
    ['--query', 'label:team=a'],
  ])('the service selects by %s: nothing else is carried', async (...selector) => {
    await client.bots.create({ id: 'quiet', kind: 'faulty', labels: { team: 'a' } });
    const load = { events_per_second: 1000, message_bytes: 200 };
    await client.bots.create({ id: 'loud', kind: 'synthetic', config: load });
    onTestFinished(async () => {
      await client.bots.act({ action: 'delete', ids: ['quiet', 'loud'] });
    });
    const proxy = await startPathProxy({ '/': Number(new URL(service.url).port) });
    onTestFinished(() => proxy.close());
    const logs = here(['logs', '-f', ...selector], { env: { DROVER_URL: proxy.origin } });
    const says = async (text: string): Promise<void> => {
      await client.invoke('quiet', text).catch(() => {});
    };
    // Repeats until it is printed: nothing tells when the stream is open.
    await expect
      .poll(async () => {
        await says('first');
        return logs.stdout().includes('first');
      })
      .toBe(true);
    let loud = 0;
    for await (const event of client.stream({
      session: ['loud'],
      event: ['log'],
      snapshot: false,
    })) {
      loud += JSON.stringify(event).length;
      if (loud > 500_000) break;
    }
    await says('last');
    await until(() => logs.stdout().includes('last'));
    await logs.interrupt();
    expect(proxy.bytes()).toBeLessThan(50_000);
  });

  it('exits without an error when its output pipe is closed', async () => {
    const logs = run(['logs', '-f']);
    await once(logs.child.stdout as NodeJS.ReadableStream, 'data');
    logs.child.stdout?.destroy();
    expect(await logs.ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('escapes control characters in lines', async () => {
    await drover(['wait', 'demo-1', '--status', 'in_world']);
    const text = 'bell \u0007 title \u001b]0;owned\u0007 csi \u009b31m';
    const printed = async (...more: string[]): Promise<string[]> => {
      const logs = here(['logs', '-f', '-g', 'SAY{TEXT', ...more]);
      // Repeats until it is printed: nothing tells when the stream is open.
      await expect
        .poll(async () => {
          await client.invoke('demo-1', 'say', { text });
          return linesOf(logs).some(owned);
        })
        .toBe(true);
      await logs.interrupt();
      // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain these
      expect(logs.stdout()).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
      return linesOf(logs);
    };
    const line = (await printed('--json')).find(owned) as string;
    const event = JSON.parse(line) as StreamEvent & { event: 'log' };
    expect(event.data.message).toContain('owned');
    for (const one of await printed()) expect(one.toLowerCase()).toContain('say{text');
  });

  const owned = (line: string): boolean => line.includes('owned');
});

describe('record and check', () => {
  it('records the run of a command up to its last line, and checks it', async () => {
    const file = path.join(home, 'run.ndjson');
    const script = `
      const { execFileSync } = require('node:child_process');
      const drover = (...args) => execFileSync(process.execPath, [process.env.CLI, ...args], { stdio: 'inherit' });
      drover('wait', 'demo-1', '--status', 'in_world');
      drover('invoke', 'demo-1', 'say', 'text=recorded');
      process.exit(3);
    `;
    const recorded = await run(['record', file, '--', process.execPath, '-e', script], {
      env: { CLI },
    }).ended;
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
      url: service.url,
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
    expect((await drover(['record', quiet, '--', 'true'])).code).toBe(0);
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
      '--allow-absent',
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
    const recording = run(['record', file, '--event', 'log']);
    await until(() => readIfThere(file).split('\n').length > 5);
    recording.child.kill('SIGINT');
    expect((await recording.ended).code).toBe(0);
    expect(readIfThere(file).endsWith('\n')).toBe(true);
    const waiting =
      "process.on('SIGTERM', () => process.exit(9)); setInterval(() => {}, 1000); console.log('here')";
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

  it('- writes to standard output, and a device is written without --force', async () => {
    const printed = await drover(['record', '-', '--for', '500ms']);
    expect(printed).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^drover: recorded \d+ events to standard output\n$/),
    });
    const lines = printed.stdout.trimEnd().split('\n');
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ drover_recording: 1 });
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({ event: 'end', data: { by: 'time' } });
    const file = path.join(home, 'printed.ndjson');
    writeFileSync(file, printed.stdout);
    const xml = await drover(['check', file, '--no-errors', '--junit', '-']);
    expect(xml).toMatchObject({ code: 0, stderr: '' });
    expect(xml.stdout).toMatch(/^<\?xml .*\n<testsuites tests="1" failures="0"/);
    expect(xml.stdout).toMatch(/<\/testsuites>\n$/);
    expect(readdirSync(home)).not.toContain('-');
    expect((await drover(['record', '/dev/null', '--for', '300ms'])).code).toBe(0);
  });

  it('a filtered recording states its filter, and check reports it', async () => {
    const file = path.join(home, 'part.ndjson');
    const flags = ['--level', 'warn,error', '--bot', 'demo-1'];
    expect((await drover(['record', file, '--for', '300ms', ...flags])).code).toBe(0);
    const [head = ''] = readFileSync(file, 'utf8').split('\n');
    const filter = 'level:warn,error bot:demo-1';
    expect(JSON.parse(head)).toMatchObject({ filter });
    expect(await drover(['check', file, '--no-gaps'])).toMatchObject({
      code: 0,
      stderr: `drover: the recording holds only what matches "${filter}"; other events are not checked\n`,
    });
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

describe('on a terminal', () => {
  /** What remains visible after lines were overwritten. */
  const left = (output: string): string =>
    output
      .split('\n')
      .map((line) => line.replace(/\r$/, '').split('\r\u001b[K').at(-1))
      .join('\n');

  function expectCleared(output: string): void {
    for (const line of output.replaceAll('\r\u001b[K', '\r\n').split(/\r?\n/)) {
      if (!line.startsWith('drover: ')) expect(line.length).toBeLessThan(60);
    }
    expect(left(output)).not.toMatch(/recording:|checking:|waiting for/);
    expect(left(output)).not.toContain('\u001b');
  }

  const file = () => path.join(home, 'run.ndjson');

  it.each([
    [
      'record',
      () => ['record', file(), '--for', '10m', '--force'],
      /recording: [1-9]\d*s of 600s, [1-9]\d* events/,
    ],
    [
      'check --live',
      () => ['check', '--live', '--expect', 'bot busy nowhere within 10m', '--no-gaps'],
      /checking: [1-9]\d*s of 600s, 1 of 2 met, [1-9]\d* ev/,
    ],
    [
      'wait',
      () => ['wait', 'busy', '--status', 'nowhere', '--timeout', '10m'],
      /waiting for busy to be nowhere, it is running: [1-9]\d*s of 600s/,
    ],
    [
      'a wait whose text is too wide',
      () => ['wait', 'busy', '--status', `${'nowhere,'.repeat(9)}never`, '--timeout', '2s'],
      /waiting for busy to be nowhere or nowhere or [a-z ]+\r/,
    ],
    [
      'wait for a service',
      () => ['wait', '--url', 'http://127.0.0.1:9', '--timeout', '2500ms'],
      /waiting for http:\/\/127\.0\.0\.1:9: [12]s of 2s/,
    ],
  ])('%s shows its progress and clears it', async (_, args, shown) => {
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    });
    onTestFinished(() => void vi.useRealTimers());
    const command = here(args(), { terminal: 60 });
    let isOver = false;
    void command.ended.then(() => {
      isOver = true;
    });
    const passTime = async (seconds: number): Promise<void> => {
      await vi.advanceTimersByTimeAsync(seconds * 1000);
    };
    await until(() => command.screen() !== '');
    await expect
      .poll(async () => {
        await passTime(1);
        return command.screen();
      })
      .toMatch(shown);
    await expect
      .poll(async () => {
        // Less than the silence after which a stream counts as dead: its lines come in real time.
        await passTime(10);
        return isOver;
      })
      .toBe(true);
    expectCleared(command.screen());
  });

  /**
   * Everything that a terminal received that script (of util-linux) has created.
   * @param shown is followed by Ctrl-C.
   */
  async function onTerminal(
    args: string,
    more: Record<string, string> = {},
    shown?: RegExp,
  ): Promise<string> {
    requireTool('script', 'bsdutils');
    const line = `stty columns 60; '${process.execPath}' '${CLI}' ${args}`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      env: { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'xterm', ...env, ...more },
      stdio: [shown === undefined ? 'ignore' : 'pipe', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const closed = once(child, 'close');
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    if (shown !== undefined) {
      await expect.poll(() => output).toMatch(shown);
      child.stdin?.write('\u0003');
    }
    await closed;
    return output;
  }

  it('the terminal of a process is one', async () => {
    // Any second but the first 0 shows that the line is updated.
    const shown = /recording: [1-9]\d*s of 600s, [1-9]\d* events/;
    const output = await onTerminal(`record '${file()}' --for 10m --force`, {}, shown);
    expect(left(output)).toMatch(/^drover: recorded \d+ events to \S+$/m);
    expectCleared(output);
  });

  it('shows no progress on a dumb terminal', async () => {
    const output = await onTerminal(`record '${file()}' --for 1s --force`, { TERM: 'dumb' });
    expect(output).toMatch(/^drover: recorded \d+ events to \S+\r\n$/);
  });

  it('shows no progress without a terminal', async () => {
    const { stderr } = await drover(['record', file(), '--for', '1s', '--force']);
    expect(stderr).toMatch(/^drover: recorded \d+ events to \S+\n$/);
  });
});
