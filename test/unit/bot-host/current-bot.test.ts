// Which run's code is running, for every way in which a bot's code can start.

import { EventEmitter, once } from 'node:events';
import net from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, it } from 'vitest';
import { type CurrentRun, runAsBot, watchRuns } from '../../../src/bot-host/current-bot.js';
import type { Logger } from '../../../src/bot-sdk/index.js';

const log = {} as Logger;
const kind = { kind: 'k' };
const run = (number: number): CurrentRun => ({
  id: `bot-${number}`,
  kind,
  number,
  log,
  fail: () => {},
  isGone: false,
});
const [one, two] = [run(1), run(2)];

/** Without the code of no run, which the test runner has between any two callbacks. */
let told: number[] = [];
let last = 0;
watchRuns(
  () => {},
  (number) => {
    last = number;
    if (number !== 0 && number !== told.at(-1)) told.push(number);
  },
);
beforeEach(() => {
  runAsBot(run(99), () => {});
  told = [];
});

it('reports a synchronous task, once in a row', () => {
  for (const bot of [one, one, two, two, one]) runAsBot(bot, () => {});
  expect(told).toEqual([1, 2, 1]);
});

it('reports code that continues after an await', async () => {
  const turns = async (): Promise<void> => {
    for (let n = 0; n < 3; n++) await null;
  };
  const [first, second] = [runAsBot(one, turns), runAsBot(two, turns)];
  await Promise.all([first, second]);
  expect(told.slice(0, 6)).toEqual([1, 2, 1, 2, 1, 2]);
});

it.each([
  ['a timer', () => void setTimeout(() => {}, 5)],
  ['an immediate', () => void setImmediate(() => {})],
  ['a sleep', async () => void (await delay(5))],
])('%s', async (_, begin) => {
  await runAsBot(one, begin);
  runAsBot(two, () => {});
  told = [];
  runAsBot(one, begin);
  runAsBot(two, () => {});
  expect(told).toEqual([1, 2]);
  await delay(50);
  expect(told).toEqual([1, 2, 1]);
});

it('reports events of a socket', async () => {
  const server = net.createServer((socket) => socket.end('hello')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const read = new EventEmitter();
  runAsBot(one, () => {
    net.connect(port, '127.0.0.1').on('data', () => read.emit('read', told.at(-1)));
  });
  runAsBot(two, () => {});
  expect(await once(read, 'read')).toEqual([1]);
  server.close();
});

it('reports that the code of no run has begun', async () => {
  runAsBot(one, () => {});
  expect(last).toBe(1);
  await delay(1);
  expect(last).toBe(0);
});

it('reports the run of a loop of microtasks at every moment of it', async () => {
  const seen = new Set<number>();
  await runAsBot(one, async () => {
    for (let n = 0; n < 1000; n++) {
      await null;
      seen.add(last);
    }
  });
  expect([...seen]).toEqual([1]);
});
