// `drover kinds new`: what it writes works, and it says how to see that.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { expectFailure, runCli } from '../harness/cli.js';
import type { CliEnd } from '../harness/cli-in-process.js';
import { ROOT } from '../harness/docs.js';
import { makeDir, removeDir } from '../harness/service.js';

/** ROOT, as a folder. */
const PACKAGE = path.join(ROOT, '/');
const GREET = ['--invoke', 'greet={"name":"anna"}', '--for', '1ms'];
const LOADS_TYPESCRIPT = Boolean((process.features as { typescript?: unknown }).typescript);

let home: string;
let cwd: string;
let serial = 0;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));
beforeEach(() => {
  serial += 1;
  cwd = path.join(home, `work-${serial}`);
  mkdirSync(cwd);
});

const drover = (...args: string[]): Promise<CliEnd> => runCli(home, args, { cwd });
/** As `npm install` would. */
function linkPackages(): void {
  mkdirSync(path.join(cwd, 'node_modules'));
  symlinkSync(ROOT, path.join(cwd, 'node_modules/drover'));
  for (const name of ['typescript', '@types', '.bin']) {
    symlinkSync(`${ROOT}/node_modules/${name}`, path.join(cwd, 'node_modules', name));
  }
}
/** Runs the command of the line that begins with this word. */
function follow(stdout: string, word: string): string {
  const [, command = ''] =
    new RegExp(`^${word}: +(?:npm install .* && )?(.+)$`, 'm').exec(stdout) ?? [];
  expect(command, stdout).not.toBe('');
  const { NODE_OPTIONS: _, ...env } = process.env;
  return execFileSync('sh', ['-c', `${command} 2>&1`], { cwd, encoding: 'utf8', env });
}
async function expectGreets(file: string): Promise<void> {
  const { code, stdout, stderr } = await drover('kinds', 'test', file, ...GREET);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^greet \{"text":"hello, anna"\}$/m);
  expect(stdout).toMatch(/^nothing is left behind$/m);
}

describe('writes a bot with its test', () => {
  it('in JavaScript', async () => {
    const { code, stdout, stderr } = await drover('kinds', 'new', 'greeter');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toBe(`wrote greeter.mjs, greeter.test.mjs
install:   npm install ${PACKAGE}
test it:   node --test greeter.test.mjs
try it:    drover kinds test greeter.mjs --invoke 'greet={"name":"anna"}'
run it:    drover start --kinds .
a bot:     drover bots create greeter-1 --kind greeter
`);
    linkPackages();
    expect(follow(stdout, 'test it')).toMatch(/^# pass 2$/m);
    await expectGreets('greeter.mjs');
    const again = await drover('kinds', 'new', 'other');
    expect(again.stdout).not.toMatch(/^install/m);
  });

  it('in TypeScript', async () => {
    linkPackages();
    const { stdout } = await drover('kinds', 'new', 'typed.bot', '--language', 'ts');
    expect(readdirSync(cwd).sort()).toEqual([
      'node_modules',
      'typed.bot.mts',
      'typed.bot.test.mts',
    ]);
    expect(/^compile/m.test(stdout)).toBe(!LOADS_TYPESCRIPT);
    if (!LOADS_TYPESCRIPT) follow(stdout, 'compile');
    expect(follow(stdout, 'test it')).toMatch(/^# pass 2$/m);
    await expectGreets(LOADS_TYPESCRIPT ? 'typed.bot.mts' : 'typed.bot.mjs');
  });

  it('in Python, with the SDK beside it', async () => {
    const { code, stdout, stderr } = await drover('kinds', 'new', 'my-bot', '--language', 'python');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toMatch(
      /^wrote my-bot\.py, my-bot_test\.py, my-bot\.program\.json, drover_bot\.py\n/,
    );
    expect(follow(stdout, 'test it')).toMatch(/^Ran 2 tests in .*\n\nOK$/m);
    await expectGreets('my-bot.py');
    await expectGreets('my-bot.program.json');
    expect(JSON.parse(readFileSync(path.join(cwd, 'my-bot.program.json'), 'utf8'))).toMatchObject({
      command: ['python3', 'my-bot.py'],
      protocol: 'jsonl',
    });
    // A second bot uses the same SDK, also one that its author has changed.
    writeFileSync(path.join(cwd, 'drover_bot.py'), '# mine');
    const second = await drover('kinds', 'new', 'second', '--language', 'python');
    expect(second.stdout).toMatch(/^wrote second\.py, second_test\.py, second\.program\.json\n/);
    expect(readFileSync(path.join(cwd, 'drover_bot.py'), 'utf8')).toBe('# mine');
  });
});

describe('refuses in one line', () => {
  it('to overwrite any file', async () => {
    writeFileSync(path.join(cwd, 'mine.test.mjs'), '// mine');
    expectFailure(
      await drover('kinds', 'new', 'mine'),
      EXIT.failed,
      /^drover: mine\.test\.mjs already exists: nothing was written\n$/,
    );
    expect(readdirSync(cwd)).toEqual(['mine.test.mjs']);
  });

  it.each([
    ['a b', 'js', /the name of the kind, "a b", must be 1 to 64 letters/],
    ['../x', 'js', /the name of the kind, "\.\.\/x", must be 1 to 64 letters/],
    ['demo', 'js', /demo is a kind that ships with Drover: choose another name/],
    ['drover_bot', 'python', /drover_bot\.py would hide the module drover_bot of Python/],
    ['json', 'python', /json\.py would hide the module json of Python/],
    ['x', 'php', /Allowed choices are js, ts, python/],
  ])('the name %s in %s', async (name, language, says) => {
    expectFailure(await drover('kinds', 'new', name, '--language', language), EXIT.usage, says);
    expect(readdirSync(cwd)).toEqual([]);
  });
});
