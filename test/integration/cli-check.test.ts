// The exit codes of `drover check`, as the table in docs/CLI.md has them.

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runCliInProcess } from '../harness/cli-in-process.js';
import { ROOT } from '../harness/docs.js';
import { recording, type Step } from '../harness/recordings.js';
import { makeDir, removeDir } from '../harness/service.js';

const dir = makeDir();
afterAll(() => removeDir(dir));

const up: Step = { at: 10, bot: 'probe', status: 'in_world' };
const hello: Step = { at: 20, bot: 'probe', line: 'hello' };
const error = 'the world has gone';
const bad: Step = { at: 30, bot: 'probe', line: error, level: 'error' };
/** By column: what happens, and when the run ends. */
const RUNS: Record<string, [steps: Step[], endMs?: number]> = {
  'all is well': [[up, hello], 100],
  absent: [[{ ...up, bot: 'other' }], 100],
  failed: [[up, hello, bad, { at: 30, bot: 'probe', status: 'failed', error }], 100],
  restarted: [
    [
      up,
      hello,
      bad,
      { at: 30, bot: 'probe', status: 'backoff', error },
      { at: 50, bot: 'probe', status: 'in_world', error, restarts: 1 },
    ],
    100,
  ],
  'cut off': [[up, hello]],
};

function tableRows(): string[][] {
  const text = readFileSync(path.join(ROOT, 'docs/CLI.md'), 'utf8');
  const [, table = ''] = /\n\n(\| expectation \| all is well [\s\S]*?)\n\n/.exec(text) ?? [];
  return table
    .split('\n')
    .map((row) => row.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

const [columns = [], , ...rows] = tableRows();

describe('the table of exit codes in docs/CLI.md', () => {
  it('has a column for each recording', () => {
    expect(columns.slice(1)).toEqual(Object.keys(RUNS));
    expect(rows.length).toBeGreaterThan(10);
  });

  it.each(rows.map(([first = '', ...codes]) => [first, codes] as const))(
    '%s',
    async (words, codes) => {
      const [, text = '', flag] = /^`([^`]+)`(?:, with `([^`]+)`)?$/.exec(words) ?? [];
      const found: string[] = [];
      for (const [steps, endMs] of Object.values(RUNS)) {
        const file = path.join(dir, 'run.ndjson');
        writeFileSync(file, recording(steps, endMs));
        const args = ['check', file, '--expect', text, ...(flag === undefined ? [] : [flag])];
        found.push(String((await runCliInProcess(args, { env: {}, cwd: dir })).code));
      }
      expect(found).toEqual(codes);
    },
  );
});

it('says what is absent', async () => {
  const file = path.join(dir, 'run.ndjson');
  writeFileSync(file, recording([{ ...up, bot: 'other' }], 100));
  const args = [
    'check',
    file,
    '--expect',
    'bot probe never failed',
    '--expect',
    'no errors of probe',
  ];
  const { stdout } = await runCliInProcess([...args, '--no-restarts'], { env: {}, cwd: dir });
  expect(stdout).toContain('FAIL  bot probe never failed: no snapshot of bot probe was seen');
  expect(stdout).toContain('FAIL  no errors of probe: bot probe never appeared');
  expect(stdout).toContain('ok    no restarts: never happened');
});
