// The command line on a terminal (created by script, from util-linux): progress of commands that take long.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startCli } from '../harness/cli.js';
import { requireTool } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const CLI = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

let service: Service;
let home: string;
let env: Record<string, string>;
beforeAll(async () => {
  requireTool('script', 'bsdutils');
  home = makeDir();
  service = await startService({ config: { bots: [{ id: 'busy', kind: 'synthetic' }] } });
  env = { DROVER_URL: service.url, DROVER_TOKEN: await service.token() };
});
afterAll(async () => {
  await stopClean(service);
  removeDir(home);
});

/** Everything that the terminal received. */
async function onTerminal(args: string, more: Record<string, string> = {}): Promise<string> {
  const line = `stty columns 60; '${process.execPath}' '${CLI}' ${args}`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, TERM: 'xterm', ...env, ...more },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  await once(child, 'close');
  return output;
}

/** What remains visible after lines were overwritten. */
const left = (output: string): string =>
  output
    .split('\n')
    .map((line) => line.replace(/\r$/, '').split('\r\u001b[K').at(-1))
    .join('\n');

const file = () => path.join(home, 'run.ndjson');
const NEVER = `--expect 'bot busy nowhere within 3s' --no-gaps`;

describe('on a terminal', () => {
  // A busy machine may skip a second: any but the first 0 shows that the line is updated.
  it.each([
    [
      'record',
      () => `record '${file()}' --for 3s --force`,
      /recording: [1-3]s of 3s, [1-9]\d* events/,
    ],
    [
      'check --live',
      () => `check --live ${NEVER}`,
      /checking: [1-3]s of 3s, 1 of 2 met, [1-9]\d* ev/,
    ],
    [
      'wait',
      () => 'wait busy --status nowhere --timeout 3s',
      /waiting for busy to be nowhere, it is running: [1-3]s of 3s/,
    ],
    [
      'a wait whose text is too wide',
      () => `wait busy --status ${'nowhere,'.repeat(9)}never --timeout 2s`,
      /waiting for busy to be nowhere or nowhere or [a-z ]+\r/,
    ],
    [
      'wait for a service',
      () => 'wait --url http://127.0.0.1:9 --timeout 2500ms',
      /waiting for http:\/\/127\.0\.0\.1:9: [12]s of 2s/,
    ],
  ])('%s shows its progress and clears it', async (_, args, shown) => {
    const output = await onTerminal(args());
    expect(output).toMatch(shown);
    for (const line of output.replaceAll('\r\u001b[K', '\r\n').split('\r\n')) {
      if (!line.startsWith('drover: ')) expect(line.length).toBeLessThan(60);
    }
    expect(left(output)).not.toMatch(/recording:|checking:|waiting for/);
    expect(left(output)).not.toContain('\u001b');
  });

  it('shows no progress on a dumb terminal', async () => {
    const output = await onTerminal(`record '${file()}' --for 1s --force`, { TERM: 'dumb' });
    expect(output).toMatch(/^drover: recorded \d+ events to \S+\r\n$/);
  });
});

it('shows no progress without a terminal', async () => {
  const args = ['record', file(), '--for', '1s', '--force'];
  const { stderr } = await startCli(home, args, { env }).ended;
  expect(stderr).toMatch(/^drover: recorded \d+ events to \S+\n$/);
});
