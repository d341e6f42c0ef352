import { expect, it } from 'vitest';
import type { RunState } from '../../../src/kinds/program/session.js';
import { endOf, python, startProgram, until } from './programs.js';

const SERVER = ['python3', 'mcp-server.py'];

it('has the tools of all pages as commands, with their schemas', async () => {
  const bot = await startProgram({ command: SERVER, protocol: 'mcp' });
  await until(bot, () => bot.status === 'running');
  expect(await bot.invoke('add', { a: 2, b: 3 })).toEqual({
    content: [{ type: 'text', text: '5' }],
    structuredContent: { sum: 5 },
  });
  await expect(bot.invoke('add', { a: 2 })).rejects.toThrow(/b/);
  await expect(bot.invoke('fail')).rejects.toThrow(/^the disk is full$/);
  await expect(bot.invoke('nothing')).rejects.toThrow(/add, fail, grow, wait/);
  await until(bot, () => bot.messages('warn').includes('ping was answered'));
});

it('writes the lines that the server logs, and tells it what nobody waits for', async () => {
  const bot = await startProgram({ command: SERVER, protocol: 'mcp' });
  await until(bot, () => bot.messages('info').includes('level info'));
  await until(bot, () => bot.status === 'running');
  const { session } = bot.context.state as RunState;
  const abort = new AbortController();
  void session?.call('wait', {}, { signal: abort.signal });
  abort.abort(new Error('nobody waits'));
  await until(bot, () => bot.lines.some(({ scope }) => scope === 'server'));
  const line = bot.lines.find(({ scope }) => scope === 'server');
  expect(line).toMatchObject({
    level: 'warn',
    message: expect.stringMatching(/^{"cancelled":\d+}$/),
  });
});

it('has new tools when the server says that its list has changed', async () => {
  const bot = await startProgram({ command: SERVER, protocol: 'mcp' });
  await until(bot, () => bot.status === 'running');
  await expect(bot.invoke('new')).rejects.toThrow(/no command "new"/);
  await bot.invoke('grow');
  // The list comes after two more answers.
  for (;;) {
    const result = await bot.invoke('new').catch(() => null);
    if (result !== null) break;
    await bot.invoke('add', { a: 1, b: 1 });
  }
});

it('says why a server cannot be used', async () => {
  const old = await startProgram({ command: [...SERVER, '1999-01-01'], protocol: 'mcp' });
  expect(await endOf(old)).toMatch(
    /^the MCP server cannot be used: initialize: it speaks MCP "1999-01-01"; this client speaks 2025/,
  );
  const silent = await startProgram({
    command: ['sleep', '1000'],
    protocol: 'mcp',
    start_timeout_ms: 100,
  });
  expect(await endOf(silent)).toBe('the MCP server did not answer initialize within 100 ms');
  const early = await startProgram({ command: python('exit(2)'), protocol: 'mcp' });
  expect(await endOf(early)).toBe('the program exited with code 2 before it was initialized');
});
