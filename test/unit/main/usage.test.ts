// Windows of usage, with the clock and the timers of the test.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type MeasuredHost, Usage, type WindowUse } from '../../../src/main/bots/usage.js';
import { isNotable, usageOf } from '../../../src/main/bots/usage-figures.js';
import { usageByKind } from '../../../src/main/bots/usage-metrics.js';
import { type BotWithUsage, UsageSnapshots } from '../../../src/main/bots/usage-snapshots.js';
import type { BotUsage } from '../../../src/shared/contract/events.js';

const MB = 2 ** 20;
const WINDOW_MS = 10_000;

class Host {
  isAsleep = false;
  isLost = false;
  beats = 0;
  heap: MeasuredHost['heap'] = { used: 50 * 2 ** 20, limit: 2 ** 31 };
  onlyBot: string | null = null;
  /** Bots that run here, by run. */
  readonly runs = new Map([
    [1, 'a'],
    [2, 'b'],
  ]);

  botOf(run: number): string | null {
    return this.runs.get(run) ?? null;
  }
}

let host: Host;
let ended: { uses: readonly WindowUse[]; ms: number }[];
let isAwaited: boolean;
let usage: Usage<Host>;

beforeEach(() => {
  vi.useFakeTimers();
  host = new Host();
  ended = [];
  isAwaited = false;
  usage = new Usage<Host>({
    windowMs: WINDOW_MS,
    isOn: (id, on) => [...on.runs.values()].includes(id),
    ended: (_, uses, ms) => {
      ended.push({ uses, ms });
      return isAwaited;
    },
  });
});
afterEach(() => vi.useRealTimers());

/** A report each second, for so many. */
function work(seconds: number, uses: number[], connections: number[] | null = null): void {
  for (let n = 0; n < seconds; n++) {
    vi.advanceTimersByTime(1000);
    host.beats += 10;
    usage.report(host, { ms: 1000, uses, connections, memory: null });
  }
}

const used = (at = -1): Record<string, BotUsage | null> =>
  Object.fromEntries((ended.at(at)?.uses ?? []).map(({ id, usage }) => [id, usage]));

it('averages over a window of whole reports', () => {
  work(10, [1, 50, 20, 1000, 2, 300, 0, 0, 99, 7, 7, 7], [2, 3]);
  expect(ended).toHaveLength(1);
  expect(ended[0]?.ms).toBe(10_000);
  expect(used()).toEqual({
    a: {
      cpu: 0.05,
      memory_mb: null,
      lines_per_second: 20,
      bytes_per_second: 1000,
      connections: 0,
    },
    b: { cpu: 0.3, memory_mb: null, lines_per_second: 0, bytes_per_second: 0, connections: 3 },
  });
  expect(Object.fromEntries(usage.all())).toEqual(used());
});

it('of a bot that is alone on its host the memory is known', () => {
  host.onlyBot = 'a';
  work(10, [1, 50, 0, 0]);
  expect(used()['a']?.memory_mb).toBe(50);
});

it('counts the memory of child processes, also of a bot that shares its host', () => {
  const report = (memory: number[] | null, uses: number[] = []): void =>
    usage.report(host, { ms: 5000, uses, connections: null, memory });
  report([1, 30 * MB], [1, 2500, 0, 0]);
  vi.advanceTimersByTime(5000);
  report(null, [1, 2500, 0, 0]);
  expect(used()['a']).toMatchObject({ cpu: 0.5, memory_mb: 30 });
  // Alone, that of its host is known too.
  host.onlyBot = 'a';
  vi.advanceTimersByTime(10_000);
  report(null, [1, 2500, 0, 0]);
  expect(used()['a']?.memory_mb).toBe(80);
  host.onlyBot = null;
  report([]);
  // This window still has the time of the last report.
  host.isAsleep = true;
  vi.advanceTimersByTime(40_000);
  expect(used()).toEqual({ a: null });
});

it('a bot that stops using anything is shown so, and then there is no timer any more', () => {
  work(10, [1, 50, 20, 1000]);
  host.isAsleep = true;
  vi.advanceTimersByTime(WINDOW_MS * 2);
  expect(used()).toEqual({ a: null });
  expect(vi.getTimerCount()).toBe(0);
  expect(ended).toHaveLength(2);
  expect([...usage.all()]).toEqual([]);
  // And begins again.
  host.isAsleep = false;
  work(10, [1, 50, 20, 1000]);
  expect(used()['a']?.cpu).toBe(0.05);
});

it('a host that falls asleep within a window: its length is what has passed', () => {
  work(3, [1, 390, 0, 0]);
  host.isAsleep = true;
  vi.advanceTimersByTime(WINDOW_MS * 2);
  expect(ended[0]?.ms).toBe(13_000);
  expect(used(0)['a']?.cpu).toBe(0.09);
});

it('a host whose loop a bot holds is waited for', () => {
  work(2, [1, 50, 0, 0]);
  vi.advanceTimersByTime(60_000);
  expect(ended).toEqual([]);
  usage.report(host, { ms: 60_000, uses: [1, 60_000, 0, 0], connections: null, memory: null });
  expect(used()['a']?.cpu).toBeCloseTo(0.97, 2);
});

it('a host that is awake and whose bots use nothing is not waited for', () => {
  work(2, [1, 50, 0, 0]);
  for (let n = 0; n < 40; n++) {
    vi.advanceTimersByTime(1000);
    host.beats += 10;
  }
  expect(used(0)['a']?.cpu).toBeCloseTo(0.007, 3);
  expect(used()).toEqual({ a: null });
});

it('a bot that only has connections keeps them, without a timer', () => {
  work(1, [1, 1, 0, 0], [1, 4]);
  host.isAsleep = true;
  vi.advanceTimersByTime(WINDOW_MS * 5);
  expect(vi.getTimerCount()).toBe(0);
  expect(Object.fromEntries(usage.all())['a']).toMatchObject({ cpu: 0, connections: 4 });
});

it('a bot that has left is not its host’s any more, nor is one of a host that is gone', () => {
  work(5, [1, 50, 0, 0, 2, 50, 0, 0]);
  host.runs.delete(1);
  work(5, [2, 50, 0, 0]);
  expect(Object.keys(used())).toEqual(['b']);
  work(1, [2, 50, 0, 0]);
  usage.forget(host);
  expect(vi.getTimerCount()).toBe(0);
  expect([...usage.all()]).toEqual([]);
});

it('who is to be shown again is given once more', () => {
  isAwaited = true;
  work(10, [1, 50, 0, 0]);
  host.isAsleep = true;
  vi.advanceTimersByTime(WINDOW_MS * 5);
  expect(vi.getTimerCount()).toBe(1);
  isAwaited = false;
  vi.advanceTimersByTime(WINDOW_MS * 5);
  expect(vi.getTimerCount()).toBe(0);
});

const of = (figures: Partial<BotUsage>): BotUsage => ({
  cpu: 0,
  memory_mb: null,
  lines_per_second: 0,
  bytes_per_second: 0,
  connections: 0,
  ...figures,
});

it.each([
  [null, of({ cpu: 0.004, lines_per_second: 0.5, bytes_per_second: 200 }), false],
  [null, of({ cpu: 0.02 }), true],
  [null, of({ connections: 1 }), true],
  [of({ cpu: 0.5 }), of({ cpu: 0.55 }), false],
  [of({ cpu: 0.5 }), of({ cpu: 0.61 }), true],
  [of({ lines_per_second: 1000 }), of({ lines_per_second: 1100 }), false],
  [of({ lines_per_second: 1000 }), of({}), true],
  [of({ cpu: 0.02 }), null, true],
  [null, null, false],
])('a change from %o to %o: notable is %s', (before, after, notable) => {
  expect(isNotable(before, after)).toBe(notable);
});

it('what rounds to nothing is nothing', () => {
  expect(usageOf({ cpuMs: 4, lines: 0, bytes: 4 }, WINDOW_MS, 0, null)).toBeNull();
  expect(usageOf(undefined, WINDOW_MS, 1, null)).toEqual(of({ connections: 1 }));
});

it('a bot has one event in 10 s, the busiest first, and all of them in the end', () => {
  let now = 0;
  const shown = new Map<string, BotWithUsage>();
  const events: string[] = [];
  const snapshots = new UsageSnapshots(
    {
      shown: (id) => shown.get(id) ?? { usage: null, over_quota: [] },
      publish: (bot) => {
        events.push(bot.id);
        shown.set(bot.id, bot);
      },
    },
    () => now,
  );
  const bots = (cpu: number): BotWithUsage[] =>
    Array.from({ length: 2500 }, (_, n) => ({
      id: `bot-${n}`,
      usage: of({ cpu: cpu + n / 1e5 }),
      over_quota: [],
    }));
  const rounds = [0.1, 0.1, 0.1, 0.1].map((cpu) => {
    events.length = 0;
    const isWaiting = snapshots.show(bots(cpu));
    now += 1000;
    return [events.length, events[0], isWaiting];
  });
  expect(rounds).toEqual([
    [1000, 'bot-2499', true],
    [1000, 'bot-1499', true],
    [500, 'bot-499', false],
    [0, undefined, false],
  ]);
  // All have changed, and all have had an event within 10 s.
  expect(snapshots.show(bots(0.9))).toBe(true);
  expect(events).toEqual([]);
  now += 10_000;
  snapshots.show(bots(0.9));
  expect(events).toHaveLength(1000);
});

it('metrics: sums by kind', () => {
  const bots = Array.from({ length: 100 }, (_, n): [string, BotUsage] => [
    `bot-${n}`,
    of({ cpu: 0.25, lines_per_second: 1, connections: 2 }),
  ]);
  const byKind = usageByKind([...bots, ['deleted', of({ cpu: 1 })]], (id) =>
    id === 'deleted' ? undefined : id.length === 5 ? 'few' : 'many',
  );
  expect(byKind).toEqual({
    few: { cpu: 2.5, lines: 10, bytes: 0, connections: 20 },
    many: { cpu: 22.5, lines: 90, bytes: 0, connections: 180 },
  });
});
