// sdk/python/drover_bot.py: a bot that uses all of it, with the test as its host.

import { copyFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runCli } from '../harness/cli.js';
import { docBlock, ROOT } from '../harness/docs.js';
import { JsonlProgram, type Message } from '../harness/jsonl-program.js';
import { makeDir, removeDir } from '../harness/service.js';
import { startProgram, until } from '../unit/kinds/programs.js';

const EVERYTHING = fileURLToPath(new URL('../fixtures/programs/everything.py', import.meta.url));

async function startBot(config: object = {}): Promise<JsonlProgram> {
  const bot = new JsonlProgram(['python3', EVERYTHING]);
  await bot.initialize(config);
  return bot;
}

describe('initialize', () => {
  it('declares the commands, with schemas from type hints or given', async () => {
    const bot = new JsonlProgram(['python3', EVERYTHING]);
    const { result } = await bot.initialize();
    expect(Object.keys(result)).toEqual(['commands']);
    expect(result.commands.shapes).toEqual({
      description: 'Takes one of each.',
      args: {
        type: 'object',
        additionalProperties: false,
        required: ['text', 'number'],
        properties: {
          text: { type: 'string' },
          number: { type: 'number' },
          flag: { type: 'boolean', default: false },
          count: { type: 'integer', description: 'How many.', minimum: 1, default: 1 },
          mode: { enum: ['fast', 'slow'], default: 'fast' },
          maybe: { anyOf: [{ type: 'string' }, { type: 'null' }], default: null },
          many: { type: 'array', items: { type: 'integer' }, default: [] },
          table: { type: 'object', additionalProperties: { type: 'integer' }, default: {} },
          other: { default: null },
        },
      },
    });
    expect(result.commands.given).toEqual({
      description: 'Its schema is given.',
      args: { type: 'object', required: ['x'] },
    });
    expect(result.commands.wait.args).toEqual({
      type: 'object',
      properties: {},
      additionalProperties: false,
    });
    // `main` begins after it.
    await bot.find(({ params }) => params?.message === 'main of bot-1, any: {}');
    expect(await bot.stop()).toBe(0);
  });

  it('is refused for another version of the protocol', async () => {
    const bot = new JsonlProgram(['python3', EVERYTHING]);
    const { error } = await bot.request('initialize', {
      protocol: 2,
      id: 'b',
      kind: 'k',
      config: {},
    });
    expect(error).toEqual({ code: -32602, message: 'the protocol must be 1, not 2' });
    expect(bot.logs()).toEqual(['info before run']);
  });
});

describe('commands', () => {
  it('get arguments by name, with their defaults', async () => {
    const bot = await startBot();
    const shapes = await bot.command('shapes', { text: 'grüße 🐑', number: 1, many: [1] });
    expect(shapes.result).toEqual({
      text: 'grüße 🐑',
      number: 1,
      count: 1,
      maybe: null,
      many: [1],
    });
    expect((await bot.command('given', { x: null, y: [1] })).result).toEqual({ x: null, y: [1] });
  });

  it.each([
    ['nope', {}, -32601, /^there is no command 'nope'; there are: shapes, given, /],
    ['shapes', { text: 'x' }, -32602, 'args.number is missing'],
    ['shapes', { text: 1, number: 1 }, -32602, 'args.text must be string'],
    ['shapes', { text: '', number: true }, -32602, 'args.number must be number'],
    ['shapes', { text: '', number: 1, count: 0 }, -32602, 'args.count must be >= 1'],
    ['shapes', { text: '', number: 1, mode: 'x' }, -32602, 'args.mode must be one of fast, slow'],
    [
      'shapes',
      { text: '', number: 1, maybe: 1 },
      -32602,
      'args.maybe must be string or args.maybe must be null',
    ],
    ['shapes', { text: '', number: 1, many: [1, 'x'] }, -32602, 'args.many[1] must be integer'],
    ['shapes', { text: '', number: 1, table: { a: '' } }, -32602, 'args.table.a must be integer'],
    ['shapes', { text: '', number: 1, extra: 1 }, -32602, 'unknown key args.extra'],
    ['given', {}, -32602, 'args.x is missing'],
    ['wait', [], -32602, 'args must be object'],
  ])('%s refuses %j', async (name, args, code, message) => {
    const bot = await startBot();
    const { error } = await bot.command(name, args);
    expect(error?.code).toBe(code);
    expect(error?.message).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
  });

  it('run at once, are answered in any order, and can be cancelled', async () => {
    const bot = await startBot();
    const [block, wait] = ['block', 'wait'].map((command) =>
      bot.ask('command', { command, args: {} }),
    );
    await bot.find(({ params }) => params?.message === 'waits');
    expect((await bot.command('given', { x: 1 })).result).toEqual({ x: 1 });
    bot.notify('cancel', { id: wait });
    expect((await bot.answer(wait as number)).error).toEqual({
      code: -32800,
      message: 'cancelled',
    });
    bot.notify('cancel', { id: block });
    expect((await bot.answer(block as number)).result).toBe('ended, cancelled: True');
    bot.notify('cancel', { id: 999 });
    expect((await bot.command('given', { x: 2 })).result).toEqual({ x: 2 });
  });

  it('are refused when too many run', async () => {
    const bot = await startBot();
    // One of the 64 is `main`.
    for (let n = 0; n < 63; n++) bot.ask('command', { command: 'wait', args: {} });
    expect((await bot.command('given', { x: 1 })).error?.message).toBe(
      '64 commands are already running',
    );
    expect(await bot.stop()).toBe(0);
  });

  it('that fail leave a traceback in the log, and errors for their callers do not', async () => {
    const bot = await startBot();
    expect((await bot.command('fails')).error).toEqual({ code: -32000, message: "KeyError: 'x'" });
    const errors = () => bot.logs().filter((line) => line.startsWith('error'));
    expect(errors()).toHaveLength(1);
    expect(errors()[0]).toMatch(
      /^error Traceback.*everything\.py", line \d+, in fails.*KeyError: 'x'$/s,
    );
    const data = { when: 'tomorrow' };
    const { error } = await bot.command('refuses');
    expect(error).toEqual({ code: -32042, message: 'not today', data });
    expect(errors()).toHaveLength(1);
  });

  it('with other faults are errors too, and the bot lives on', async () => {
    const bot = await startBot();
    const misuse = async (what: string) => (await bot.command('misuses', { what })).error?.message;
    expect(await misuse('level')).toMatch(
      /^ValueError: level must be one of info, warn, error, state, not 'debug'$/,
    );
    expect(await misuse('data')).toMatch(/^data is not JSON: /);
    expect(await misuse('result')).toMatch(/^the result is not JSON: /);
    expect(await misuse('nan')).toMatch(/^the result is not JSON: /);
    expect(await misuse('long')).toBe('the result has more than 1048576 bytes');
    // Standard input is the host's.
    expect(await misuse('input')).toMatch(/^EOFError/);
    expect(await misuse('long log')).toBeUndefined();
    expect(bot.logs().at(-1)).toMatch(/^info ü+… \(cut, 1048576 characters\)$/);
  });
});

describe('what the host sends', () => {
  it('is refused when it is no request that the bot knows', async () => {
    const bot = await startBot();
    expect((await bot.request('nope', {})).error).toEqual({
      code: -32601,
      message: 'there is no method nope',
    });
    bot.write('{"jsonrpc":\n');
    expect((await bot.find(({ id }) => id === null)).error?.code).toBe(-32700);
    bot.write(`\r\n"${'x'.repeat(2 ** 20)}"\n`);
    bot.write(`"${'x'.repeat(2 ** 22)}"\n`);
    const isTooLong = ({ error }: Message): boolean =>
      error?.message === 'a line has more than 1048576 bytes';
    await bot.find(isTooLong);
    expect((await bot.command('given', { x: 1 })).result).toEqual({ x: 1 });
    expect(bot.messages.filter(isTooLong)).toHaveLength(2);
  });
});

describe('services', () => {
  it('what is printed becomes lines, in order', async () => {
    const bot = await startBot();
    await bot.command('speaks');
    await bot.find(({ params }) => params?.message === 'from a child');
    expect(await bot.stop()).toBe(0);
    const logs = bot.logs();
    expect(logs[0]).toBe('info before run');
    const own = logs.filter((line) => !/main of|from|stops|hook/.test(line)).slice(1);
    expect(own).toEqual([
      'info one line',
      'warn then a log',
      'info two',
      'info lines',
      'info no end',
    ]);
    expect(logs.filter((line) => line.includes('from'))).toEqual([
      'info from C',
      'info from a child',
    ]);
  });

  it('log, wire, status and data', async () => {
    const bot = await startBot();
    await bot.command('services');
    const sent = bot.messages.filter(({ method }) => method !== undefined && method !== 'log');
    expect(sent).toEqual([
      {
        jsonrpc: '2.0',
        method: 'wire',
        params: {
          transport: 'tcp',
          direction: 'outgoing',
          message: 'HELLO',
          scope: 'game',
          correlation_id: '7',
        },
      },
      { jsonrpc: '2.0', method: 'status', params: { status: 'at work' } },
      { jsonrpc: '2.0', method: 'data', params: { patch: { a: 1, b: null } } },
    ]);
  });

  it('fetch asks the host, from functions of both sorts', async () => {
    const bot = await startBot();
    const get = bot.ask('command', { command: 'get', args: { url: 'http://x/' } });
    const asked = await bot.find(({ method }) => method === 'fetch');
    expect(asked.params).toEqual({
      url: 'http://x/',
      method: 'POST',
      headers: { a: 'b' },
      body: 'c',
      scope: 'page',
      timeout_ms: 5,
    });
    const result = { status: 404, headers: { a: 'b' }, body: 'w7w=', base64: true };
    bot.write(`${JSON.stringify({ jsonrpc: '2.0', id: asked.id, result })}\n`);
    expect((await bot.answer(get)).result).toEqual([404, false, 'ü', { a: 'b' }]);

    const later = bot.ask('command', { command: 'get_async', args: { url: 'http://y/' } });
    const second = await bot.find(({ params }) => params?.url === 'http://y/');
    const error = { code: -32000, message: 'not allowed' };
    bot.write(`${JSON.stringify({ jsonrpc: '2.0', id: second.id, error })}\n`);
    expect((await bot.answer(later)).error).toEqual(error);

    const third = bot.ask('command', { command: 'get', args: { url: 'http://z/' } });
    await bot.find(({ params }) => params?.url === 'http://z/');
    bot.notify('cancel', { id: third });
    expect((await bot.answer(third)).error?.message).toMatch(/CancelledError/);
    expect((await bot.command('get_wrongly', { url: 'http://x/' })).error?.message).toBe(
      'RuntimeError: this would block all async functions: use await bot.fetch_async(...)',
    );
  });
});

describe('the end', () => {
  it('at stop: commands are cancelled, hooks run, and a hook that fails leaves a traceback', async () => {
    const bot = await startBot();
    const block = bot.ask('command', { command: 'block', args: {} });
    bot.ask('command', { command: 'wait', args: {} });
    await bot.find(({ params }) => params?.message === 'waits');
    expect(await bot.stop()).toBe(0);
    expect((await bot.answer(block)).result).toBe('ended, cancelled: True');
    expect(bot.logs()).toContain('info stops');
    expect(
      bot.logs().filter((line) => /^error .*ValueError: the hook fails$/s.test(line)),
    ).toHaveLength(1);
    expect(bot.stderr).toBe('');
  });

  it('when the host is gone', async () => {
    const bot = await startBot();
    bot.closeInput();
    expect(await bot.ended()).toBe(0);
  });

  it.each([
    ['return', 0, /^$/],
    ['raise', 1, /^RuntimeError: the server is gone\n$/],
    ['exit', 3, /^$/],
  ])('when main does %s: code %i', async (does, code, stderr) => {
    const bot = await startBot({ does });
    expect(await bot.ended()).toBe(code);
    expect(bot.stderr).toMatch(stderr);
    expect(bot.logs()).toContain('info stops');
    const traces = bot.logs().filter((line) => /Traceback.*the server is gone/s.test(line));
    expect(traces).toHaveLength(does === 'raise' ? 1 : 0);
  });

  it('also when main does not end', async () => {
    const bot = await startBot({ does: 'ignore' });
    await bot.find(({ params }) => /^main of/.test(params?.message));
    expect(await bot.stop()).toBe(0);
    expect(bot.logs().at(-1)).toMatch(
      /^(warn 1 of its functions still ran 2 s after the stop|error Traceback)/,
    );
  });
});

it('the bot of docs/STDIO.md works, and follows the protocol', async () => {
  const text = docBlock('docs/STDIO.md', 'async def remind');
  expect(text.split('\n').length).toBeLessThanOrEqual(26);
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const file = path.join(dir, 'timer.py');
  writeFileSync(file, text);
  copyFileSync(`${ROOT}/sdk/python/drover_bot.py`, path.join(dir, 'drover_bot.py'));
  const schema = { type: 'object', properties: { every_s: { type: 'number' } } };
  const bot = await startProgram(
    { command: ['python3', file], cwd: dir, protocol: 'jsonl', config: schema },
    { id: 'timer', config: { every_s: 0.01 }, graceMs: 60_000 },
  );
  await until(bot, () => bot.status === 'waiting');
  await until(bot, () => bot.messages('info').includes('still here'));
  expect(await bot.invoke('remind', { text: 'tea', seconds: 0 })).toBe('tea');
  expect(bot.messages('info')).toContain('tea');
  await expect(bot.invoke('remind', { text: 'tea', seconds: -1 })).rejects.toThrow(
    /^seconds must not be negative$/,
  );
  await bot.stop(60_000);
  expect(bot.end).toEqual({ error: null, restart: true });
  const args = ['--for', '1ms', '--config', '{"every_s":9}', '--invoke', 'remind={"text":"tea"}'];
  const { code, stdout, stderr } = await runCli(dir, ['kinds', 'test', file, ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(/^remind "tea"$/m);
  expect(stdout).toMatch(/^it follows protocol jsonl, version 1$/m);
});
