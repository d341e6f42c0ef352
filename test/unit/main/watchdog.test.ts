import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Watchdog } from '../../../src/main/bots/watchdog.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';

const HANG_MS = 10_000;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('a host without heartbeats is reported once, and one that beats is not', () => {
  const hung = vi.fn();
  const still = { beats: 1 } as HostThread;
  const well = { beats: 1 };
  const watchdog = new Watchdog(() => [still, well as HostThread], HANG_MS, hung);
  for (let n = 0; n < 60; n++) {
    well.beats += 1;
    vi.advanceTimersByTime(500);
  }
  expect(hung).toHaveBeenCalledTimes(1);
  expect(hung.mock.calls[0]?.[0]).toBe(still);
  watchdog.stop();
});

it('when main itself was held up no host is blamed, and one that does not recover is found later', () => {
  const hung = vi.fn();
  const host = { beats: 1 } as HostThread;
  const watchdog = new Watchdog(() => [host], HANG_MS, hung);
  vi.advanceTimersByTime(1000);
  // The process was suspended: time has passed, and no timer has fired.
  const real = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 60_000);
  vi.advanceTimersByTime(500);
  expect(hung).not.toHaveBeenCalled();
  vi.advanceTimersByTime(HANG_MS);
  expect(hung).toHaveBeenCalledTimes(1);
  now.mockRestore();
  watchdog.stop();
});

it.each([1500, 9000, 60_000])(
  'a main that is late at each check (every %i ms) finds a host that hangs',
  (everyMs) => {
    const hung = vi.fn();
    const still = { beats: 1 } as HostThread;
    const well = { beats: 1 };
    const watchdog = new Watchdog(() => [still, well as HostThread], HANG_MS, hung);
    const real = performance.now.bind(performance);
    let late = 0;
    const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + late);
    const start = performance.now();
    while (hung.mock.calls.length === 0 && performance.now() - start < 10 * (HANG_MS + everyMs)) {
      well.beats += 1;
      late += everyMs - 500;
      vi.advanceTimersByTime(500);
    }
    expect(hung.mock.calls.map(([host]) => host)).toEqual([still]);
    // One pause is forgiven in all, or as much as a host may hang.
    const found = performance.now() - start;
    expect(found).toBeGreaterThan(HANG_MS);
    expect(found).toBeLessThanOrEqual(HANG_MS + Math.max(HANG_MS, everyMs) + 2 * everyMs);
    now.mockRestore();
    watchdog.stop();
  },
);

it('a host that is asleep is not watched, and one that hangs after it woke is found in time', () => {
  const hung = vi.fn();
  const host = { beats: 1, isAsleep: true };
  const watchdog = new Watchdog(() => [host as HostThread], HANG_MS, hung);
  vi.advanceTimersByTime(10 * HANG_MS);
  expect(vi.getTimerCount()).toBe(0);
  host.isAsleep = false;
  host.beats += 1;
  watchdog.watch();
  vi.advanceTimersByTime(HANG_MS - 1);
  expect(hung).not.toHaveBeenCalled();
  vi.advanceTimersByTime(501);
  expect(hung).toHaveBeenCalledTimes(1);
  watchdog.stop();
});
