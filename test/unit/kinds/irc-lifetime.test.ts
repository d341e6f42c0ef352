// The irc kind against misbehaving servers, and that it leaves nothing behind.

import { getEventListeners, once } from 'node:events';
import net from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { BotLines } from '../../../src/bot-host/bot-lines.js';
import { BotRun } from '../../../src/bot-host/bot-run.js';
import type { Item } from '../../../src/shared/contract/events.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { NetworkRules } from '../../../src/shared/network-rules.js';
import irc from '../../../workers/kinds/irc.js';
import { eventually } from '../../harness/bots.js';
import { collector } from '../bot-host/started-run.js';

const servers: net.Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

/** A bot with a scripted server. */
async function run(
  serve: (socket: net.Socket) => void,
  config: JsonObject = {},
): Promise<{ bot: BotRun; items: Item[] }> {
  const server = net.createServer((socket) => {
    socket.on('error', () => {});
    // A socket that is not read does not see its end.
    socket.resume();
    serve(socket);
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { items, outbox } = collector();
  const whole = {
    host: '127.0.0.1',
    port: (server.address() as net.AddressInfo).port,
    tls: false,
    tls_verify: true,
    nick: 'anna',
    username: 'anna',
    realname: 'Anna',
    channels: [],
    reconnect: { attempts: 0, wait_ms: 1, max_wait_ms: 1 },
    ...config,
  };
  return {
    bot: new BotRun({
      kind: irc,
      id: 'anna',
      number: 1,
      config: whole,
      outbox,
      lines: new BotLines(outbox, 'anna', 0),
      network: new NetworkRules(null),
      reportLate: () => {},
    }),
    items,
  };
}

const statuses = (items: Item[]): unknown[] =>
  items.flatMap((item) => (item.kind === 'session' && item.patch?.status) || []);

/** Timers and sockets of this process; none when a bot has left nothing behind. */
function resources(): string[] {
  return process
    .getActiveResourcesInfo()
    .filter((name) => /Timeout|TCPSocket|TLS|TCPConnect/.test(name))
    .sort();
}

/** Instead of expect.poll, which has its own timer. */
async function nothingLeft(): Promise<void> {
  await eventually(() => resources().length === 0, 'timers and sockets are gone').catch(() => {});
  expect(resources()).toEqual([]);
}

const WELCOME = ':irc.test 001 anna :Welcome\r\n';

it.each([
  ['a line without an end', 'x'.repeat(20_000), /longer than 16384 bytes/],
  ['a line on which irc-framework fails', 'CAP\r\n', /./],
  ['nothing, and goes away', null, /connection was lost/],
])('a server that sends %s is a lost connection', async (_, bytes, reason) => {
  const { bot } = await run((socket) => (bytes === null ? socket.end() : socket.write(bytes)));
  const { error, restart } = await bot.ended;
  expect(error).toMatch(reason);
  expect(restart).toBe(true);
});

it('leaves no timer, socket or listener behind, after many connections and a stop', async () => {
  let connections = 0;
  const { bot, items } = await run(
    (socket) => {
      connections += 1;
      socket.write(WELCOME);
      // The last one stays.
      if (connections <= 20) setTimeout(() => socket.end(), 5);
      else socket.on('data', (text) => String(text).includes('JOIN') && bot.stop());
    },
    { channels: ['#a', '#b'], reconnect: { attempts: 1000, wait_ms: 1, max_wait_ms: 1 } },
  );
  const { signal } = bot.context;
  const { error } = await bot.ended;
  expect(error).toBeNull();
  expect(connections).toBe(21);
  expect(statuses(items)).toContain('reconnecting');
  expect(items).toContainEqual(expect.objectContaining({ message_json: '"QUIT stopped"' }));
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  await nothingLeft();
});

it('can be stopped while the server is silent', async () => {
  const sockets: net.Socket[] = [];
  const { bot, items } = await run((socket) => sockets.push(socket));
  await expect.poll(() => statuses(items)).toContain('registering');
  bot.stop();
  expect((await bot.ended).error).toBeNull();
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  await nothingLeft();
});

it('a command fails when the server does not answer, and when its connection is lost', async () => {
  const { bot, items } = await run((socket) => {
    socket.write(WELCOME);
    socket.on('data', (text) => String(text).includes('gone') && socket.destroy());
  });
  await expect.poll(() => statuses(items)).toContain('online');
  const say = (text: string): Promise<unknown> =>
    bot.invoke({
      command: 'say',
      args: { target: '#a', text },
      timeoutMs: 300,
    });
  await expect(say('hello')).rejects.toThrow(/did not answer/);
  await expect(say('gone')).rejects.toThrow(/connection was lost/);
  expect((await bot.ended).error).toMatch(/connection was lost/);
});

it('limits its send rate, and refuses a command when too many lines wait', async () => {
  let lines = 0;
  const { bot, items } = await run((socket) => {
    socket.write(WELCOME);
    socket.on('data', (text) => {
      lines += String(text).split('\r\n').length - 1;
    });
  });
  await expect.poll(() => statuses(items)).toContain('online');
  const said = Array.from({ length: 40 }, () =>
    bot
      .invoke({
        command: 'say',
        args: { target: '#a', text: 'x' },
        timeoutMs: 500,
      })
      .catch(({ message }) => message),
  );
  const answers = await Promise.all(said);
  expect(answers).toContain('too many lines wait to be sent');
  // The burst, and one each half second since.
  expect(lines).toBeLessThan(15);
  bot.stop();
  await bot.ended;
});

it('a server that says that the bot has joined everything is believed for a thousand channels', async () => {
  const { bot, items } = await run((socket) => {
    const joins = Array.from({ length: 1500 }, (_, at) => `:anna!a@b JOIN #${at}\r\n`);
    socket.write(`${WELCOME}${joins.join('')}`);
  });
  const counts = () =>
    items.flatMap((item) => (item.kind === 'session' && item.patch?.data?.['channel_count']) || []);
  await eventually(() => counts().at(-1) === 1000, 'a thousand channels');
  await bot.stop();
  expect(Math.max(...counts().map(Number))).toBe(1000);
});
