import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LoopWatch } from '../../../src/main/bots/loop-watch.js';

class FakeHost {
  isAsleep = false;
  beats = 0;
  codeChanges = 0;
  lastBot: string | null = null;
  waitedMs = 0;
  lateMs = 0;

  /** Other code runs there: that of a bot, or of none. */
  run(bot: string | null): void {
    this.codeChanges += 1;
    this.lastBot = bot;
  }

  /** The loop turns for so long: code of two bots, and beats. */
  turn(ms: number): void {
    for (let n = 0; n < ms / 25; n++) {
      this.run(n % 4 === 0 ? null : `bot-${n % 4}`);
      this.beats += 1;
      vi.advanceTimersByTime(25);
    }
  }
}

const SLOW_MS = 250;
let host: FakeHost;
let held: [bot: string, ms: number][];
let watch: LoopWatch<FakeHost>;

beforeEach(() => {
  vi.useFakeTimers();
  host = new FakeHost();
  held = [];
  watch = new LoopWatch(
    () => [host],
    SLOW_MS,
    (_, bot, ms) => void held.push([bot, ms]),
  );
  watch.watch();
});
afterEach(() => {
  watch.stop();
  vi.useRealTimers();
});

describe('a bot whose code runs alone', () => {
  it('is named when it is over, with about the time', () => {
    host.turn(200);
    host.run('a');
    vi.advanceTimersByTime(600);
    expect(held).toEqual([]);
    host.turn(200);
    expect(held).toEqual([['a', expect.any(Number)]]);
    expect(held[0]?.[1]).toBeGreaterThanOrEqual(500);
    expect(held[0]?.[1]).toBeLessThanOrEqual(700);
  });

  it('is not named below the bound, nor when others run too', () => {
    host.run('a');
    vi.advanceTimersByTime(100);
    host.turn(1000);
    for (let n = 0; n < 100; n++) {
      host.run(`bot-${n % 2}`);
      vi.advanceTimersByTime(90);
    }
    expect(held).toEqual([]);
  });

  it('is not named for the time in which its thread had no processor', () => {
    host.turn(100);
    host.run('a');
    vi.advanceTimersByTime(100);
    host.run('b');
    vi.advanceTimersByTime(200);
    host.waitedMs = 450;
    vi.advanceTimersByTime(400);
    host.turn(100);
    expect(held).toEqual([]);
    host.run('b');
    vi.advanceTimersByTime(1000);
    host.turn(100);
    expect(held).toEqual([['b', expect.any(Number)]]);
  });

  it('is not named for the time in which the whole process was suspended', () => {
    host.turn(100);
    host.run('a');
    vi.advanceTimersByTime(50);
    const real = performance.now.bind(performance);
    const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 60_000);
    vi.advanceTimersByTime(50);
    host.turn(100);
    now.mockRestore();
    expect(held).toEqual([]);
  });
});

it('code of no bot, and a host in which nothing runs, hold nothing', () => {
  host.run(null);
  vi.advanceTimersByTime(5000);
  host.run('a');
  host.isAsleep = true;
  vi.advanceTimersByTime(5000);
  host.isAsleep = false;
  watch.watch();
  host.turn(100);
  expect(held).toEqual([]);
});

it('has a timer only while a host is awake, and none after its stop', () => {
  host.turn(100);
  expect(vi.getTimerCount()).toBe(1);
  host.isAsleep = true;
  vi.advanceTimersByTime(200);
  expect(vi.getTimerCount()).toBe(0);
  host.isAsleep = false;
  watch.watch();
  expect(vi.getTimerCount()).toBe(1);
  watch.stop();
  watch.watch();
  expect(vi.getTimerCount()).toBe(0);
});

it('without a bound nothing is named', () => {
  const never = new LoopWatch(
    () => [host],
    null,
    () => expect.unreachable(),
  );
  never.watch();
  host.run('a');
  vi.advanceTimersByTime(5000);
  host.turn(200);
  never.stop();
});

it('the delay is that of the last beats, or for how long the loop has been held, and 0 while nothing runs', () => {
  host.turn(200);
  expect(watch.delayMs(host)).toBe(0);
  host.lateMs = 40;
  expect(watch.delayMs(host)).toBe(40);
  host.run('a');
  vi.advanceTimersByTime(3000);
  expect(watch.delayMs(host)).toBeGreaterThan(2500);
  host.isAsleep = true;
  expect(watch.delayMs(host)).toBe(0);
});

it('says for how long a host has not beaten, also while code of several bots runs, and 0 while nothing runs', () => {
  host.turn(200);
  expect(watch.silentMs(host)).toBe(0);
  for (let n = 0; n < 20; n++) {
    host.run(`bot-${n % 2}`);
    vi.advanceTimersByTime(100);
  }
  expect(watch.silentMs(host)).toBeGreaterThanOrEqual(1800);
  expect(watch.silentMs(host)).toBeLessThanOrEqual(2000);
  host.beats += 1;
  vi.advanceTimersByTime(100);
  expect(watch.silentMs(host)).toBe(0);
  vi.advanceTimersByTime(500);
  host.isAsleep = true;
  expect(watch.silentMs(host)).toBe(0);
});

it('a pause of the whole service is not the silence of a host', () => {
  host.turn(200);
  const real = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 60_000);
  vi.advanceTimersByTime(100);
  now.mockRestore();
  expect(watch.silentMs(host)).toBeLessThanOrEqual(300);
});
