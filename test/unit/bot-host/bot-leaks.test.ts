// A bot runs for weeks: repeated calls must leave nothing on its signal.

import { getEventListeners, once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { BotLines } from '../../../src/bot-host/bot-lines.js';
import { BotRun } from '../../../src/bot-host/bot-run.js';
import type { Outbox } from '../../../src/bot-host/outbox.js';
import { type BotKind, defineBot, Type } from '../../../src/bot-sdk/index.js';
import { clientGone, nobodyWaits } from '../../../src/shared/contract/command-messages.js';
import { NetworkRules } from '../../../src/shared/network-rules.js';
import { partial } from '../../harness/partial.js';

const kind: BotKind = defineBot({
  kind: 'idle',
  config: Type.Object({}),
  commands: {
    listen: {
      args: Type.Object({}),
      run: (_, __, call) => call.signal.addEventListener('abort', () => {}) ?? null,
    },
    fail: {
      args: Type.Object({}),
      run() {
        throw new Error('it fails');
      },
    },
  },
  run: (ctx) => ctx.sleep(2 ** 30),
});

let server: http.Server;
let url: string;
let collectGarbage: () => void;
beforeAll(async () => {
  setFlagsFromString('--expose-gc');
  collectGarbage = runInNewContext('gc') as () => void;
  // A response of /slow never ends.
  server = http.createServer((request, response) => {
    if (request.url === '/slow') response.write('begun');
    else response.end('whole');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

let bot: BotRun;
beforeEach(() => {
  const outbox = partial<Outbox>({ add: () => {}, hasRoom: () => true, flush: () => {} });
  bot = new BotRun({
    kind,
    id: 'idle',
    number: 1,
    config: {},
    outbox,
    lines: new BotLines(outbox, 'idle', 0),
    network: new NetworkRules(null),
    reportLate: () => {},
  });
});
afterEach(async () => {
  bot.stop();
  await bot.ended;
});

/** Listeners and combined signals that the bot's signal holds. The run's sleep is one. */
function held(): number {
  const dependants = Object.getOwnPropertySymbols(bot.context.signal).find((symbol) =>
    String(symbol).includes('kDependantSignals'),
  );
  const combined =
    dependants && (bot.context.signal as never as Record<symbol, { size: number }>)[dependants];
  return getEventListeners(bot.context.signal, 'abort').length + (combined?.size ?? 0);
}

it('commands leave no listener, also those that fail or are cancelled', async () => {
  for (let n = 0; n < 100; n++) {
    await bot.invoke({ command: 'listen', args: {}, timeoutMs: 60_000 });
    bot
      .command(
        'listen',
        () => ({}),
        () => {},
      )
      .abort(clientGone(), nobodyWaits());
    await bot.invoke({ command: 'fail', args: {}, timeoutMs: 60_000 }).catch(() => {});
  }
  expect(held()).toBeLessThanOrEqual(1);
});

it('requests leave no listener, with their own signal or without', async () => {
  for (let n = 0; n < 100; n++) {
    await (await bot.context.fetch(url)).text();
    await (await bot.context.fetch(url, { signal: new AbortController().signal })).text();
    await bot.context.fetch(url, { signal: AbortSignal.abort() }).catch(() => {});
  }
  await expect
    .poll(() => {
      collectGarbage();
      return held();
    })
    // A few may not be collected yet.
    .toBeLessThanOrEqual(5);
});

it('a request ends with either signal, its body too', async () => {
  const own = new AbortController();
  const first = await bot.context.fetch(`${url}/slow`, { signal: own.signal });
  const second = await bot.context.fetch(`${url}/slow`, { signal: new AbortController().signal });
  const bodies = [first, second].map((response) => response.text().catch((thrown) => thrown));
  own.abort(new Error('the bot’s own reason'));
  expect(await bodies[0]).toMatchObject({ message: 'the bot’s own reason' });
  collectGarbage();
  bot.stop();
  expect(await bodies[1]).toMatchObject({ message: 'the bot is stopping' });
});
