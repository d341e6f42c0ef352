// What `drover/bot-sdk/testing` promises to unit tests of kinds.

import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startBot, type TestOptions, testContext } from '../../../src/bot-host/testing.js';
import { BotError, defineBot, Type } from '../../../src/bot-sdk/index.js';

const clock = defineBot({
  kind: 'clock',
  config: Type.Object(
    {
      every_ms: Type.Integer({ default: 1000 }),
      password: Type.Optional(Type.String({ writeOnly: true })),
    },
    { additionalProperties: false },
  ),
  state: () => ({ ticks: 0 }),
  commands: {
    add: {
      args: Type.Object({ n: Type.Integer({ default: 1 }) }, { additionalProperties: false }),
      run(ctx, { n }) {
        if (n < 0) throw new Error('time does not run backwards');
        ctx.state.ticks += n;
        return { ticks: ctx.state.ticks };
      },
    },
  },
  async run(ctx) {
    ctx.setStatus('ticking');
    ctx.after(10_500, () => ctx.log.warn('late'));
    ctx.every(ctx.config.every_ms, async () => {
      await Promise.resolve();
      ctx.state.ticks += 1;
      ctx.updateData({ ticks: ctx.state.ticks });
    });
    ctx.log.info('my password is', ctx.config.password);
    await ctx.sleep(60_000);
    throw new BotError('worn out', { restart: false });
  },
});

const start = async (options?: TestOptions) => {
  const bot = await startBot(clock, options);
  onTestFinished(() => bot.stop());
  return bot;
};

describe('a bot in a unit test', () => {
  it('has begun, and its clock is paused until the test moves it on', async () => {
    const bot = await start();
    expect(bot.status).toBe('ticking');
    expect(bot.data).toEqual({});
    await bot.advance(999);
    expect(bot.data).toEqual({});
    await bot.advance(1);
    expect(bot.data).toEqual({ ticks: 1 });
    await bot.advance(9499);
    expect(bot.data).toEqual({ ticks: 10 });
    expect(bot.messages('warn')).toEqual([]);
    await bot.advance(1);
    expect(bot.messages('warn')).toEqual(['late']);
    expect(bot.end).toBeNull();
    await bot.advance(60_000);
    await bot.until(() => bot.end !== null);
    expect(bot.end).toEqual({ error: 'worn out', restart: false });
    expect(bot.statuses).toEqual(['ticking']);
    expect(bot.data).toEqual({ ticks: 60 });
  });

  it('has the defaults of its schema, and refuses what does not fit', async () => {
    expect((await start()).context.config).toEqual({ every_ms: 1000 });
    await expect(startBot(clock, { config: { x: 1 } })).rejects.toThrow('unknown key config.x');
  });

  it('runs commands as the service does', async () => {
    const bot = await start();
    expect(await bot.invoke('add')).toEqual({ ticks: 1 });
    expect(await bot.invoke('add', { n: 4 })).toEqual({ ticks: 5 });
    await expect(bot.invoke('add', { n: 'x' })).rejects.toThrow('args.n');
    await expect(bot.invoke('add', { n: -1 })).rejects.toThrow('time does not run backwards');
    await expect(bot.invoke('no')).rejects.toThrow('bots of kind clock have: add');
    await bot.stop();
    await expect(bot.invoke('add')).rejects.toThrow('has stopped');
  });

  it('shows its lines as a stream does, without secrets', async () => {
    const bot = await start({ config: { password: 'hunter2secret' } });
    const line = { level: 'info', scope: 'bot', transport: null, direction: null };
    expect(bot.lines).toContainEqual({ ...line, message: 'my password is ***' });
    expect(bot.messages('state')).toEqual(['starting -> ticking']);
  });

  it('stops, and a run that does not is reported', async () => {
    const bot = await start();
    await bot.stop();
    expect(bot.end).toEqual({ error: null, restart: true });
    expect(bot.statuses.at(-1)).toBe('stopping');
    const deaf = defineBot({
      kind: 'deaf',
      config: Type.Object({}),
      run: () => new Promise(() => {}),
    });
    await expect((await startBot(deaf)).stop(1)).rejects.toThrow('did not stop within 1 ms');
  });
});

describe('a context without a kind', () => {
  it('has the given configuration and state, and an answer for each request', async () => {
    const bot = await testContext({
      config: { a: 1 },
      state: { seen: 0 },
      fetch: (url) => new Response(`hello from ${url.pathname}`, { status: 404 }),
    });
    const { context } = bot;
    expect([context.config.a, context.state.seen]).toEqual([1, 0]);
    const response = await context.fetch('http://page.test/x', { scope: 'page' });
    expect([response.status, await response.text()]).toEqual([404, 'hello from /x']);
    expect(bot.lines.map(({ scope, direction }) => `${scope} ${direction}`)).toEqual([
      'page outgoing',
      'page incoming',
    ]);
    const asleep = context.sleep(1000);
    await bot.stop();
    await expect(asleep).rejects.toMatchObject({ name: 'AbortError' });
  });

  it('connects to real servers, and waits for what they send', async () => {
    const server = createServer((socket) => socket.end('hello\n')).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const bot = await testContext();
    const { context } = bot;
    const host = '127.0.0.1';
    const connection = await context.connectLines({ host, port, describe: (line) => line });
    const heard = (async () => {
      for await (const line of connection) context.log.info(`heard ${line}`);
    })();
    await bot.until(() => bot.messages().includes('heard hello'));
    await heard;
    await bot.stop();
    const closed = await testContext({ allow: [] });
    await expect(context.connectLines({ host, port, describe: () => null })).rejects.toThrow();
    await expect(closed.context.connectLines({ host, port, describe: () => null })).rejects.toThrow(
      'network.allow does not list',
    );
    await closed.stop();
  });
});

it('a fetch with timeout_ms ends by the clock of the bot, and one that is answered does not', async () => {
  const quiet = defineBot({ kind: 'quiet', config: Type.Object({}), run: (ctx) => ctx.sleep(1e9) });
  const bot = await startBot(quiet, {
    fetch: async (url, { signal }) => {
      if (url.pathname === '/fast') return new Response('here');
      await once(signal as AbortSignal, 'abort');
      throw (signal as AbortSignal).reason;
    },
  });
  onTestFinished(() => bot.stop());
  const { context } = bot;
  const slow = context.fetch('http://page.test/slow', { timeout_ms: 5000 });
  const ended = expect(slow).rejects.toMatchObject({
    name: 'TimeoutError',
    message: 'no answer within 5000 ms',
  });
  const fast = await context.fetch('http://page.test/fast', { timeout_ms: 5000 });
  await bot.advance(5000);
  await ended;
  expect(await fast.text()).toBe('here');
  await expect(context.fetch('http://page.test/x', { timeout_ms: 1e10 })).rejects.toThrow(
    'a wait of 10000000000 ms is too long',
  );
});
