// One run of a bot: its lines, its end, and what its code can no longer do after that.

import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import type { BotRun } from '../../../src/bot-host/bot-run.js';
import {
  type BotContext,
  BotError,
  type LineConnectionOptions,
  Type,
} from '../../../src/bot-sdk/index.js';
import type { Item } from '../../../src/shared/contract/events.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { messages, start } from './started-run.js';

describe('a password in a URL', () => {
  const url = 'http://user:hunter2secret@127.0.0.1:1/';

  it('is not in the error of a run or its stack', async () => {
    const { bot } = start({ run: async (ctx) => void (await ctx.fetch(url)) });
    const { error, stack } = await bot.ended;
    expect(error).toContain('http://***@127.0.0.1:1/');
    expect(stack).toContain('http://***@127.0.0.1:1/');
    expect(error + String(stack)).not.toMatch(/hunter2secret|user/);
  });

  it('is not in the error of a bot that cannot start', () => {
    const state = () => {
      throw new Error(`cannot use ${url}`);
    };
    expect(() => start({ state })).toThrow('cannot use http://***@127.0.0.1:1/');
  });

  it('is hidden completely when it contains an @', async () => {
    const run = () => {
      throw new Error('no http://user:hunter2@secret@host/, nor a@b');
    };
    expect((await start({ run }).bot.ended).error).toBe('no http://***@host/, nor a@b');
  });
});

describe('a timer', () => {
  it('that is created after the stop never fires', async () => {
    let go = (): void => {};
    const stopped = new Promise<void>((resolve) => {
      go = resolve;
    });
    const calls: string[] = [];
    let made = (): void => {};
    const late = new Promise<void>((resolve) => {
      made = resolve;
    });
    const { bot } = start({
      commands: {
        dawdle: {
          args: Type.Object({}),
          async run(ctx) {
            await stopped;
            ctx.every(1, () => void calls.push('every'))();
            ctx.every(1, () => void calls.push('every'));
            ctx.after(1, () => void calls.push('after'));
            made();
          },
        },
      },
    });
    const answer = bot.invoke({ command: 'dawdle', args: {}, timeoutMs: 60_000 });
    bot.stop();
    await expect(answer).rejects.toThrow('has stopped');
    await bot.ended;
    go();
    await late;
    // Later than they would have fired.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(calls).toEqual([]);
  });

  it('refuses waits that Node cannot wait', async () => {
    const { bot } = start({});
    await expect(bot.context.sleep(2 ** 31)).rejects.toThrow(RangeError);
    for (const ms of [2 ** 31, Number.POSITIVE_INFINITY, Number.NaN]) {
      expect(() => bot.context.every(ms, () => {})).toThrow(RangeError);
      expect(() => bot.context.after(ms, () => {})).toThrow(RangeError);
    }
    bot.context.after(2 ** 31 - 1, () => {})();
  });
});

describe('a secret of the configuration', () => {
  const token = 'tok/en of "mine"';
  const config = Type.Object({
    token: Type.String({ writeOnly: true }),
    pin: Type.String({ writeOnly: true }),
    // As in the irc kind: the account next to a password is not secret.
    login: Type.Object(
      { name: Type.String(), password: Type.String({ writeOnly: true }) },
      { writeOnly: true },
    ),
    whole: Type.Object({ a: Type.Array(Type.String()) }, { writeOnly: true }),
  });
  const values = {
    token,
    pin: '12',
    login: { name: 'anna', password: 'hunter2' },
    whole: { a: ['inside'] },
  };

  it('is in no line, error, stack or result', async () => {
    const { bot, items } = start(
      {
        config,
        commands: {
          tell: { args: Type.Object({}), run: () => ({ token: [`<${token}>`, 'anna', 12] }) },
          end: {
            args: Type.Object({}),
            run: (ctx) => void ctx.after(1, () => Promise.reject(new Error(`it was ${token}`))),
          },
          fail: {
            args: Type.Object({}),
            run() {
              throw new Error(`not with ${token}`);
            },
          },
        },
      },
      values,
    );
    bot.log.warn(`anna 12 ${token}, ${encodeURIComponent(token)}, hunter2 and inside`);
    bot.log.warn('%s', token, { hunter2: [token] }, new Error(token));
    expect(await bot.invoke({ command: 'tell', args: {}, timeoutMs: 60_000 })).toEqual({
      token: ['<***>', 'anna', 12],
    });
    await expect(bot.invoke({ command: 'fail', args: {}, timeoutMs: 60_000 })).rejects.toThrow(
      'not with ***',
    );
    await bot.invoke({ command: 'end', args: {}, timeoutMs: 60_000 });
    const { error, stack } = await bot.ended;
    expect(error).toBe('it was ***');
    expect(stack).toContain('it was ***');
    const lines = messages(items);
    expect(lines).toContain('anna 12 ***, ***, *** and ***');
    expect(lines).toContainEqual(
      expect.stringMatching(/^\*{3} \{ \*{3}: \[ '\*{3}' \] \} Error: \*{3}\n/),
    );
    expect(JSON.stringify([items, stack])).not.toMatch(/of .{0,3}mine|hunter2|inside/);
  });
});

describe('what a bot publishes beside its lines', () => {
  const config = Type.Object({ password: Type.String({ writeOnly: true }) });
  const password = 'hunter2-of-anna';
  const nothing = Type.Object({});
  const say = Type.Object({ text: Type.String() });
  const { bot, items } = startLater();

  function startLater() {
    const found: { bot?: BotRun; items?: Item[] } = {};
    beforeEach(() => {
      const commands = {
        result: { args: nothing, run: () => ({ [password]: { [`a ${password}`]: password } }) },
        say: {
          args: say,
          run: (ctx: BotContext, { text }: { text: string }) => {
            ctx.log.wire('tcp', 'outgoing', `Say{text="${text}"}`);
            return { said: text };
          },
        },
      };
      Object.assign(found, start({ config, commands }, { password }));
    });
    return {
      bot: () => found.bot as BotRun,
      items: () => found.items as Item[],
    };
  }
  const ask = (command: string, args: JsonObject = {}) =>
    bot().invoke({ command, args, timeoutMs: 60_000 });

  it('has no secret in the names of a result', async () => {
    expect(await ask('result')).toEqual({ '***': { 'a ***': '***' } });
  });

  it('has none in status, data and scopes, whole or cut', async () => {
    const { context } = bot();
    context.setStatus(`as ${password}`);
    context.setStatus(`${'x'.repeat(60)}${password}`);
    context.updateData({ [password]: { deep: [password, Buffer.from(password).toString('hex')] } });
    context.log.scope(password).info('one');
    context.log.scope(`${'x'.repeat(60)}${password}`).info('two');
    bot().stop();
    await bot().ended;
    const statuses = items().flatMap((item) =>
      item.kind === 'session' && item.patch.status ? [item.patch.status] : [],
    );
    expect(statuses).toEqual(['as ***', `${'x'.repeat(60)}***`, 'stopping']);
    expect(bot().hostedState().data).toEqual({ '***': { deep: ['***', '***'] } });
    const scopes = items().flatMap((item) => (item.kind === 'log' ? [item.scope] : []));
    expect(scopes).toEqual(expect.arrayContaining(['***', `${'x'.repeat(60)}***`]));
    expect(JSON.stringify(items())).not.toContain('hunt');
  });

  it('does not tell a caller which of many guesses is right', async () => {
    const text = `hunter1-of-anna ${password} hunter3-of-anna`;
    expect(await ask('say', { text })).toEqual({ said: text });
    expect(await ask('say', { text: password })).toEqual({ said: '***' });
    expect(await ask('result')).toEqual({ '***': { 'a ***': '***' } });
    const lines = messages(items());
    expect(lines).toEqual(expect.arrayContaining([`Say{text="${text}"}`, 'Say{text="***"}']));
  });

  it('has symbols for characters in names that a terminal or a browser would execute', () => {
    const { context } = bot();
    context.setStatus('\u001b[31mred\u202e\u0007');
    context.log.scope('a\u001b[2J').info('line');
    expect(bot().hostedState().status).toBe('␛[31mred⟨202e⟩␇');
    expect(items().some((item) => item.kind === 'log' && item.scope === 'a␛[2J')).toBe(true);
  });
});

it('a flood of statuses publishes the last one of each interval, and counts the others', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { bot, items } = start({});
  const statuses = (): string[] =>
    items.flatMap((item) =>
      item.kind === 'session' && item.patch.status ? [item.patch.status] : [],
    );
  for (let n = 0; n < 1000; n++) bot.context.setStatus(`status ${n}`);
  const first = Array.from({ length: 100 }, (_, n) => `status ${n}`);
  expect(statuses()).toEqual(first);
  // Who asks for it gets the newest one.
  expect(bot.hostedState().status).toBe('status 999');
  vi.advanceTimersByTime(100);
  expect(statuses()).toEqual([...first, 'status 999']);
  const lines = (): string[] => messages(items);
  expect(lines()).toContain('status 99 -> status 999');
  vi.advanceTimersByTime(1000);
  expect(lines()).toContain('899 statuses were skipped: rate limit exceeded');
  // After the pause each one is published at once again.
  bot.context.setStatus('calm');
  expect(statuses().at(-1)).toBe('calm');
});

it('a status that has not been published yet is followed by the end', async () => {
  const { bot, items } = start({});
  for (let n = 0; n < 200; n++) bot.context.setStatus(`status ${n}`);
  bot.stop();
  await bot.ended;
  const last = messages(items)
    .filter((line) => line.includes(' -> '))
    .at(-1);
  expect(last).toBe('status 99 -> stopping');
});

it('a server that does not read ends its connection, and memory does not grow', async () => {
  const peers: net.Socket[] = [];
  const server = net.createServer((socket) => {
    peers.push(socket.pause().on('error', () => {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const { bot } = start({});
    const connection = await bot.context.connectTcp({ host: '127.0.0.1', port }, () => null);
    const failed: unknown[] = [];
    const chunk = Buffer.alloc(65_536);
    // More than the socket buffers of both ends hold.
    for (let n = 0; n < 512 && failed.length === 0; n++) {
      connection.send(chunk).catch((thrown) => failed.push(thrown));
      await new Promise(setImmediate);
    }
    expect(String(failed[0])).toContain('the server does not read');
    await expect(connection[Symbol.asyncIterator]().next()).rejects.toThrow('does not read');
  } finally {
    for (const peer of peers) peer.destroy();
    server.close();
  }
});

it('the code of a BotError and its cause follow its message', async () => {
  const error = new BotError('no entry', {
    code: 'banned',
    cause: new Error('by http://a:b@host/'),
  });
  const run = (): never => {
    throw error;
  };
  const shown = 'no entry (code banned, cause: by http://***@host/)';
  const { bot } = start({ commands: { enter: { args: Type.Object({}), run } } });
  await expect(bot.invoke({ command: 'enter', args: {}, timeoutMs: 60_000 })).rejects.toThrow(
    shown,
  );
  expect((await start({ run }).bot.ended).error).toBe(shown);
});

describe('a line', () => {
  it('has objects, errors and further values as console shows them, on one line', () => {
    const { bot, items } = start({});
    const { log } = bot;
    log.info('100 %s');
    log.info('%s of %d', 'one', 2, { three: [3] });
    log.warn({ a: { b: { c: { d: 1 } } }, list: new Set([1, 2]) });
    log.error(undefined);
    log.state();
    expect(messages(items)).toEqual([
      '100 %s',
      'one of 2 { three: [ 3 ] }',
      '{ a: { b: { c: [Object] } }, list: Set(2) { 1, 2 } }',
      'undefined',
      '',
    ]);
  });

  it('has the stack of an error, without passwords in URLs', () => {
    const { bot, items } = start({});
    const cause = new TypeError('no way to http://user:word@host/');
    bot.log.error('it failed:', new Error('no', { cause }));
    expect(messages(items)[0]).toMatch(
      /^it failed: Error: no\n +at .*\[cause\]: TypeError: no way to http:\/\/\*{3}@host\/\n +at/s,
    );
  });

  it('is cut, and its value need not be shown', () => {
    const { bot, items } = start({});
    bot.log.info({ text: 'x'.repeat(100_000) });
    bot.log.info({
      [Symbol.for('nodejs.util.inspect.custom')]() {
        throw new Error('not me');
      },
    });
    const [long = '', hidden] = messages(items);
    expect(long).toMatch(/^\{ text: 'x+.*… \[cut, \d+ characters\]$/);
    expect(long.length).toBeLessThanOrEqual(8192);
    expect(hidden).toBe('a value that cannot be shown');
  });

  it('is formatted only if it is not skipped', () => {
    let shown = 0;
    const value = {
      [Symbol.for('nodejs.util.inspect.custom')]() {
        shown += 1;
        return 'it';
      },
    };
    const { bot, items } = start({}, {}, null, 2);
    for (let n = 0; n < 10; n++) bot.log.info(value);
    expect(shown).toBe(messages(items).length);
    expect(shown).toBeLessThan(10);
  });
});

it.each([
  [{ code: 7, why: { text: 'it broke' } }, "{ code: 7, why: { text: 'it broke' } }"],
  [Object.create(null), '[Object: null prototype] {}'],
  ['a string', 'a string'],
  [undefined, 'undefined'],
  [
    new Proxy(
      {},
      {
        getPrototypeOf() {
          throw new Error('a trap');
        },
        get() {
          throw new Error('a trap');
        },
      },
    ),
    '{}',
  ],
])('the reason of a run that threw no error can be read: %#', async (thrown, reason) => {
  const run = (): never => {
    throw thrown;
  };
  const { bot } = start({ run });
  expect((await bot.ended).error).toBe(reason);
});

describe('an error of a run that is over', () => {
  const password = 'hunter2-of-anna';
  const config = Type.Object({ password: Type.String({ writeOnly: true }) });

  it('is reported ten times, without secrets, also when the run has returned', async () => {
    const { bot, items, late } = start({ config, run: () => {} }, { password });
    await bot.ended;
    for (let n = 0; n < 20; n++) bot.fail(new Error(`${password} ${n}`));
    expect(late).toEqual([
      ...Array.from({ length: 9 }, (_, n) => `*** ${n}`),
      '*** 9 (further errors are not shown)',
    ]);
    expect(messages(items)).toEqual([]);
  });

  it('leaves a line when its `run` throws after the signal to stop', async () => {
    const run = async (ctx: BotContext): Promise<void> => {
      await ctx.sleep(2 ** 30).catch(() => {});
      throw new Error('the lock was not released');
    };
    const { bot, items, late } = start({ run });
    bot.stop();
    await bot.ended;
    expect(messages(items)).toEqual([
      'starting -> stopping',
      'error after the signal to stop: the lock was not released',
    ]);
    expect(late).toEqual([]);
  });

  it.each<[string, (ctx: BotContext<unknown>, port: number) => Promise<unknown>, boolean]>([
    ['sleep', (ctx) => ctx.sleep(2 ** 30), false],
    ['fetch', (ctx, port) => ctx.fetch(`http://127.0.0.1:${port}/`), true],
    [
      'connectLines',
      async (ctx, port) => {
        const options = { host: '127.0.0.1', port, describe: () => null };
        for await (const _ of await ctx.connectLines(options));
      },
      true,
    ],
    [
      'the signal',
      async (ctx) => {
        await once(ctx.signal, 'abort');
        ctx.signal.throwIfAborted();
      },
      false,
    ],
  ])('leaves none when it is that of a pending call: %s', async (_, wait, connects) => {
    const server = net.createServer((socket) => void socket.on('error', () => {})).listen(0);
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const connected = once(server, 'connection');
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const { bot, items, late } = start({
      async run(ctx) {
        const waiting = wait(ctx, port);
        begin();
        await waiting;
      },
    });
    await begun;
    if (connects) await connected;
    bot.stop();
    await bot.ended;
    server.close();
    expect(messages(items).filter((line) => /error/.test(line))).toEqual([]);
    expect(late).toEqual([]);
  });
});

describe('nesting', () => {
  const nest = (levels: number): JsonObject => {
    let value: JsonObject = {};
    for (let n = 1; n < levels; n++) value = { a: value };
    return value;
  };
  const args = Type.Object({});

  it.each([65, 5000, 100_000])('a result of %i levels fails at once', async (levels) => {
    const { bot } = start({ commands: { nest: { args, run: () => nest(levels) } } });
    await expect(bot.invoke({ command: 'nest', args: {}, timeoutMs: 60_000 })).rejects.toThrow(
      'a result is nested too deep, 64 levels are allowed',
    );
  });

  it('data that is nested too deep is refused, and 64 levels are not', async () => {
    const { bot } = start({ commands: { nest: { args, run: () => nest(64) } } });
    expect(() => bot.context.updateData({ a: nest(64) })).toThrow(
      'data is nested too deep, 64 levels are allowed',
    );
    bot.context.updateData({ a: nest(63) });
    expect(await bot.invoke({ command: 'nest', args: {}, timeoutMs: 60_000 })).toEqual(nest(64));
  });
});

it('data that would arrive as something else is refused, and the data before stays', () => {
  const { bot } = start({});
  bot.context.updateData({ kept: '😀' });
  const refused = JSON.parse('{"__proto__":{"gold":1}}') as JsonObject;
  expect(() => bot.context.updateData(refused)).toThrow(
    'data has the key __proto__, which is not allowed',
  );
  expect(() => bot.context.updateData({ players: ['ada', 'x\ud83d'] })).toThrow(
    'data.players[1] has half of a character (\\ud83d)',
  );
  expect(bot.hostedState().data).toEqual({ kept: '😀' });
});

it('a status with half of a character shows it', () => {
  const { bot } = start({});
  bot.context.setStatus('in \ud83d world 😀');
  expect(bot.hostedState().status).toBe('in ⟨d83d⟩ world 😀');
  bot.context.setStatus(`${'x'.repeat(63)}😀`);
  expect(bot.hostedState().status).toBe('x'.repeat(63));
});

it('fetch logs a failure, and logs nothing for a request that is not sent', async () => {
  const { bot, items } = start({});
  const url = 'http://127.0.0.1:1/';
  await expect(bot.context.fetch(url, { signal: AbortSignal.abort() })).rejects.toThrow('abort');
  expect(items).toEqual([]);
  await expect(bot.context.fetch(url)).rejects.toThrow('fetch failed');
  const lines = messages(items);
  expect(lines[0]).toBe(`GET ${url}`);
  expect(lines[1]).toMatch(/^GET http:\/\/127\.0\.0\.1:1\/ failed: fetch failed \(cause: .+\)$/);
  expect(lines).toHaveLength(2);
});

it('a last line without a line break is not lost', async () => {
  const server = net.createServer((socket) => socket.end('one\ntwo\r\nthree'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const { bot } = start({});
  const options = { host: '127.0.0.1', port, describe: (line: string) => line };
  const lines: string[] = [];
  for await (const line of await bot.context.connectLines(options)) lines.push(line);
  expect(lines).toEqual(['one', 'two', 'three']);
  server.close();
});

it('mistakes in the options of a connection are all named, and end the run for good', async () => {
  const { bot } = start({});
  const options = { hots: '127.0.0.1', port: 'x' } as unknown as LineConnectionOptions;
  await expect(bot.context.connectLines(options)).rejects.toMatchObject({
    message:
      'connectLines: host must be a string, not undefined; port must be a number, not string; describe is missing: a function from a message to its wire line, without secrets; there is no option hots',
    restart: false,
  });
  const tcp = bot.context.connectTcp({ host: '127.0.0.1', port: 80 }, undefined as never);
  await expect(tcp).rejects.toThrow('connectTcp: describe is missing');
});

it('an error that the engine throws for a mistake in the code says where', async () => {
  const { bot } = start({
    run: () => {
      const nothing = undefined as unknown as { value: number };
      return Promise.reject(nothing.value);
    },
  });
  const { error } = await bot.ended;
  expect(error).toMatch(
    /^Cannot read properties of undefined \(reading 'value'\) \(bot-run\.test\.ts:\d+:\d+\)$/,
  );
  const other = start({
    run: () => {
      throw new Error('as the author wrote it');
    },
  });
  expect((await other.bot.ended).error).toBe('as the author wrote it');
});

describe('a bot that changes what it got', () => {
  const untilAborted = (ctx: Pick<BotContext, 'signal'>): Promise<void> =>
    new Promise((resolve) => ctx.signal.addEventListener('abort', () => resolve()));

  it('stops when its signal says that it is over', async () => {
    const { bot } = start({
      run(ctx) {
        Object.defineProperty(ctx.signal, 'aborted', { value: true });
        return untilAborted(ctx);
      },
    });
    await vi.waitFor(() => expect(bot.context.signal.aborted).toBe(true));
    bot.stop();
    expect(await bot.ended).toMatchObject({ error: null });
  });

  it('ends when its signal cannot be aborted', async () => {
    const { bot } = start({
      run(ctx) {
        Object.setPrototypeOf(ctx.signal, null);
      },
    });
    expect(await bot.ended).toMatchObject({ error: null });
  });

  it('fails late with a line when its logger throws', async () => {
    const { bot, items } = start({
      run(ctx) {
        ctx.log.error = () => {
          throw new Error('no logger');
        };
        return untilAborted(ctx).then(() => ctx.sleep(1));
      },
    });
    await vi.waitFor(() => expect(Object.hasOwn(bot.context.log, 'error')).toBe(true));
    bot.stop();
    bot.fail(new Error('late'));
    await bot.ended;
    expect(messages(items)).toContain('error after the signal to stop: late');
  });
});
