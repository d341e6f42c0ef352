// The bot and the conversation of docs/STDIO.md, word for word.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import type { ProgramDefinition } from '../../../src/shared/contract/programs.js';
import { docBlock } from '../../harness/docs.js';
import { startProgram, until } from './programs.js';

interface Documented {
  programs: { counter: ProgramDefinition };
  bots: [{ id: string; config: { start: number } }];
}

const { programs, bots } = JSON.parse(docBlock('docs/STDIO.md', '"programs"')) as Documented;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-stdio-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(path.join(dir, 'counter.py'), docBlock('docs/STDIO.md', 'import json'));
});

it('is a bot', async () => {
  const [{ id, config }] = bots;
  const bot = await startProgram(
    { ...programs.counter, cwd: dir },
    { id, config, graceMs: 60_000 },
  );
  await until(bot, () => bot.messages('info').includes('I start at 40'));
  await until(bot, () => bot.status === 'running');
  expect(await bot.invoke('add', { by: 2 })).toBe(42);
  await until(bot, () => bot.data['count'] === 42);
  await bot.stop(60_000);
  expect(bot.end).toEqual({ error: null, restart: true });
  expect(bot.messages('warn')).toEqual([]);
});

it('speaks as the page shows', async () => {
  const [file = '', ...args] = programs.counter.command;
  const child = spawn(file, args, { cwd: dir, stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const exit = once(child, 'exit');
  const said = createInterface(child.stdout)[Symbol.asyncIterator]();
  const lines = docBlock('docs/STDIO.md', 'host    {').trim().split('\n');
  expect(lines).toHaveLength(7);
  for (const line of lines) {
    const [, who, message = ''] = /^(host|program) +(.*)$/.exec(line) ?? [];
    if (who === 'host') child.stdin.write(`${message}\n`);
    else expect((await said.next()).value).toBe(message);
  }
  expect(await exit).toEqual([0, null]);
});
