// `drover kinds test` and what `drover doctor` says of kinds: both load kinds in a real bot host, without a service.

import { utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { expectFailure, runCli, startCli } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir } from '../harness/service.js';

const MESSY = fileURLToPath(new URL('../fixtures/trial-kinds/messy.mjs', import.meta.url));
/** A kind that ends its host while it is loaded. */
const BREAKS_HOST =
  "setTimeout(() => { throw new Error('boom'); }, 1); await new Promise(() => {});";
/** A kind in JavaScript, which is TypeScript too. */
const PLAIN =
  "export default { kind: 'plain', description: '', config: {}, commands: {}, state() {}, run() {} };";
/** Bots stop as soon as everything was said: nothing waits for the default of 2 s. */
const BRIEF = ['--for', '1ms'];

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

const test = (args: string[], env: Record<string, string> = {}) =>
  runCli(home, ['kinds', 'test', ...args], { env });
const file = (name: string, text: string): string => {
  const place = path.join(home, name);
  writeFileSync(place, text);
  return place;
};

describe('kinds test', () => {
  it('prints the lines of the bot, the results of commands, and that nothing is left', async () => {
    const commands = ['--invoke', 'double={"n":21}', '--invoke', 'double={"n":1}'];
    const { code, stdout, stderr } = await test([MESSY, ...BRIEF, ...commands]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^\S+ state +test bot +starting -> at work\n\S+ info +test bot +hello$/m,
    );
    expect(stdout).toMatch(/^double 42\ndouble 2\n/m);
    expect(stdout).toMatch(/^its last status was at work, its data \{"left":0\}\nstopped after /m);
    expect(stdout).toMatch(/\nnothing is left behind\n$/);
  });

  it('lists what is left behind, with the line that made it, and ends child processes', async () => {
    const leave = ['interval', 'timer', 'server', 'worker', 'deadline', 'child'];
    const config = ['--config', JSON.stringify({ leave })];
    // The child has the output too, so this ends when both have ended.
    const { ended } = startCli(home, ['kinds', 'test', MESSY, ...BRIEF, ...config]);
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(EXIT.not_as_expected);
    const left = [...stdout.matchAll(/^left behind: (.+), made at (.+):\d+:\d+$/gm)];
    expect(left.map(([, what]) => what?.replace(/\d+/, 'N')).sort()).toEqual(
      ['child process N', 'interval', 'server', 'timer', 'worker thread'].sort(),
    );
    expect(new Set(left.map(([, , place]) => place?.replace('file://', '')))).toEqual(
      new Set([MESSY]),
    );
    expect(stderr).toBe(
      'drover: 5 things are left behind; end what a run makes when ctx.signal is aborted\n',
    );
  });

  it('does not take the timer of AbortSignal.timeout for one that is left behind', async () => {
    const { code, stdout } = await test([MESSY, ...BRIEF, '--config', '{"leave":["deadline"]}']);
    expect(stdout).toMatch(/\nnothing is left behind\n$/);
    expect(code).toBe(0);
  });

  it('calls the commands when the bot has the status of --when', async () => {
    const call = ['--invoke', 'double={"n":21}', '--when', 'ready'];
    const later = await test([MESSY, ...BRIEF, ...call, '--config', '{"end":"later"}']);
    expect(later).toMatchObject({ code: 0, stderr: '' });
    expect(later.stdout).toMatch(/at work -> ready\n[\s\S]*double 42\n/);
    const never = await test([MESSY, ...BRIEF, ...call, '--within', '100ms']);
    expect(never.code).toBe(EXIT.timeout);
    expect(never.stderr).toBe('drover: its status is at work, and was not ready within 100ms\n');
    expect(never.stdout).not.toContain('double');
    const ended = await test([MESSY, ...BRIEF, ...call, '--config', '{"end":"throw"}']);
    expect(ended.code).toBe(EXIT.failed);
    expect(ended.stderr).toMatch(/^drover: its run was over before its status was ready\n/);
  });

  it('says how a run ended by itself', async () => {
    const failed = await test([MESSY, '--config', '{"end":"throw"}']);
    expect(failed.code).toBe(EXIT.failed);
    expect(failed.stderr).toBe('drover: its run has failed: the password is wrong\n');
    const returned = await test([MESSY, '--config', '{"end":"return"}']);
    expect(returned).toMatchObject({ code: 0, stderr: '' });
    expect(returned.stdout).toMatch(/^its run has returned$/m);
    const env = { DROVER_HOSTS_STOP_GRACE_MS: '100' };
    const pending = await test([MESSY, '--config', '{"end":"uncaught"}'], env);
    expect(pending.code).toBe(EXIT.failed);
    expect(pending.stderr).toMatch(
      /^drover: its run has failed: nobody catches this\ndrover: its run has not returned after the error: a service replaces the host/,
    );
  });

  it('reports a run that does not stop, and one that blocks its thread', async () => {
    const env = { DROVER_HOSTS_STOP_GRACE_MS: '100', DROVER_INVOKE_TIMEOUT_MS: '200' };
    const deaf = await test([MESSY, ...BRIEF, '--config', '{"end":"never"}'], env);
    expect(deaf.code).toBe(EXIT.not_as_expected);
    expect(deaf.stderr).toMatch(/it does not stop: its run continues after the grace time/);
    const stuck = await test([MESSY, ...BRIEF, '--invoke', 'spin'], env);
    expect(stuck.code).toBe(EXIT.failed);
    expect(stuck.stderr).toMatch(/spin: the event loop is blocked at spinForever \(\S+messy\.mjs/);
  });

  it('reports a wrong configuration, command and argument in one line', async () => {
    expectFailure(await test([MESSY, '--config', '{"x":1}']), EXIT.usage, /unknown key config\.x/);
    expectFailure(await test([MESSY, '--config', '{']), EXIT.usage, /It must be a JSON object/);
    const wrong = await test([MESSY, ...BRIEF, '--invoke', 'double={"n":"x"}', '--invoke', 'no']);
    expect(wrong.code).toBe(EXIT.usage);
    expect(wrong.stderr).toMatch(
      /^drover: double: args\.n must be number|^drover: double: args\.n /,
    );
    expect(wrong.stderr).toMatch(
      /^drover: no: no command "no"; bots of kind messy have: double, spin$/m,
    );
    expectFailure(await test(['nowhere.mjs']), EXIT.usage, /there is no file \S+nowhere\.mjs/);
  });

  it('reports why a module does not load', async () => {
    const empty = file('empty.mjs', 'export const nothing = 1;');
    expectFailure(await test([empty]), EXIT.failed, /does not load: .*defineBot/);
    const broken = file('throws.mjs', "throw new Error('no luck')");
    expectFailure(await test([broken]), EXIT.failed, /does not load: .*no luck/);
    const typed = file('typed.mts', 'const a: number = 1;');
    const isLoaded = Boolean((process.features as { typescript?: unknown }).typescript);
    expectFailure(
      await test([typed]),
      EXIT.failed,
      isLoaded ? /does not load: .*defineBot/ : /does not load: Node \S+ does not load TypeScript/,
    );
    const breaks = file('breaks.mjs', BREAKS_HOST);
    expectFailure(
      await test([breaks]),
      EXIT.failed,
      /it ended its bot host while it was loaded: .*boom/,
    );
  });

  it('tests what a TypeScript file was compiled to, where Node does not load it, and says so', async () => {
    const typed = file('kind.mts', PLAIN);
    const compiled = file('kind.mjs', PLAIN);
    const isLoaded = Boolean((process.features as { typescript?: unknown }).typescript);
    const says = `drover: Node ${process.version} does not load TypeScript: this tests kind.mjs beside kind.mts`;
    utimesSync(typed, 1000, 1000);
    const { code, stderr } = await test([typed, ...BRIEF]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: isLoaded ? '' : `${says}\n` });
    utimesSync(compiled, 900, 900);
    const old = await test([typed, ...BRIEF]);
    const tsc = 'npx tsc --module nodenext --target es2023 --types node --strict --noEmitOnError';
    expect(old.stderr).toBe(
      isLoaded ? '' : `${says}; it is older: compile again with ${tsc} ${typed}\n`,
    );
  });

  it('--json is a report', async () => {
    const args = [MESSY, ...BRIEF, '--json', '--invoke', 'double={"n":4}'];
    const { code, stdout } = await test(args);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      kind: 'messy',
      lines: expect.arrayContaining(['info hello']),
      more_lines: 0,
      status: 'at work',
      data: { left: 0 },
      results: [{ command: 'double', result: 8 }],
      error: null,
      stopped: true,
      left_behind: [],
    });
  });
});

it('doctor loads the kinds, and says which do not load', async () => {
  const breaks = file('breaks.mjs', BREAKS_HOST);
  const port = String(await freePort());
  const flags = ['--json', '--port', port, '--data-dir', home, '--no-demo'];
  const { stdout } = await runCli(home, ['doctor', ...flags, '--kinds', MESSY, breaks]);
  const kinds = (JSON.parse(stdout) as { check: string }[]).find(({ check }) => check === 'kinds');
  expect(kinds).toMatchObject({
    result: 'warn',
    message: expect.stringMatching(
      /breaks\.mjs does not load: it ended its bot host .*; these load: demo, synthetic, irc, messy$/,
    ),
  });
});
