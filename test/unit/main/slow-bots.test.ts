import { beforeEach, expect, it } from 'vitest';
import { SlowBots } from '../../../src/main/bots/slow-bots.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';

const MINUTE = 60_000;
const host = { number: 2 } as HostThread;
let now: number;
let lines: string[];
let isolated: string[];

beforeEach(() => {
  now = 1000;
  lines = [];
  isolated = [];
});

const slowBots = (isolateMs: number | null = 5000): SlowBots =>
  new SlowBots(
    isolateMs,
    {
      warn: (line) => void lines.push(`service: ${line}`),
      warnBot: (id, line) => void lines.push(`${id}: ${line}`),
      isolate: (id, from, reason) => void isolated.push(`${id} from ${from.number}: ${reason}`),
    },
    () => now,
  );

it('names a bot in a line of the service and one of the bot, once a minute, with the count and the longest', () => {
  const slow = slowBots(null);
  slow.held(host, 'a', 600);
  expect(lines).toEqual([
    'a: its code held the event loop of its bot host for 600 ms: no other bot there could run meanwhile',
    'service: bot a held the event loop of bot host 2 for 600 ms',
  ]);
  lines.length = 0;
  for (const ms of [300, 900, 400]) {
    now += 10_000;
    slow.held(host, 'a', ms);
  }
  expect(lines).toEqual([]);
  now += MINUTE;
  slow.held(host, 'a', 350);
  expect(lines).toEqual([
    'a: its code held the event loop of its bot host for 900 ms at most (4 times since the last such line): no other bot there could run meanwhile',
    'service: bot a held the event loop of bot host 2 for 900 ms at most (4 times since the last such line)',
  ]);
  expect(isolated).toEqual([]);
});

it('the lines of the service are bounded, and what was left out is counted', () => {
  const slow = slowBots(null);
  for (let n = 0; n < 50; n++) slow.held(host, `bot-${n}`, 300);
  expect(lines.filter((line) => line.startsWith('service: '))).toHaveLength(20);
  expect(lines.filter((line) => line.startsWith('bot-'))).toHaveLength(50);
  now += MINUTE;
  slow.held(host, 'bot-50', 300);
  expect(lines.at(-1)).toMatch(/for 300 ms; 30 further bots did so before$/);
});

it('a bot that does it again and again is moved, one that did something large once or twice is not', () => {
  const slow = slowBots(5000);
  for (const ms of [4000, 4000]) slow.held(host, 'large', ms);
  expect(isolated).toEqual([]);
  for (const ms of [2000, 2000, 2000]) slow.held(host, 'a', ms);
  expect(isolated).toEqual([
    'a from 2: it held the event loop of its bot host 3 times, for 6000 ms in all, within 5 minutes',
  ]);
  // Short ones add up.
  for (let n = 0; n < 20; n++) slow.held(host, 'b', 260);
  expect(isolated).toHaveLength(2);
});

it('what is longer ago does not count', () => {
  const slow = slowBots(5000);
  for (let n = 0; n < 100; n++) {
    slow.held(host, 'a', 1000);
    now += 2 * MINUTE;
  }
  expect(isolated).toEqual([]);
});
