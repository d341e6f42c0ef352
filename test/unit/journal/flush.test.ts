// When what was committed is flushed in the background. The disk is a model: real ones rarely fail.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BackgroundSync } from '../../../src/journal/tables.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Flushes that have begun, each with what ends it. */
function model() {
  const flushes: ((error?: unknown) => void)[] = [];
  const sync = new BackgroundSync({
    sync: (done: (error?: unknown) => void) => flushes.push(done),
  });
  return { flushes, sync };
}

it('what is committed during a flush is flushed too, though nothing comes after it', async () => {
  const { flushes, sync } = model();
  sync.changed();
  await vi.advanceTimersByTimeAsync(5000);
  expect(flushes).toHaveLength(1);
  sync.changed();
  await vi.advanceTimersByTimeAsync(5000);
  expect(flushes).toHaveLength(1);
  flushes[0]?.();
  await vi.advanceTimersByTimeAsync(5000);
  expect(flushes).toHaveLength(2);
  flushes[1]?.();
  // And nothing is flushed for nothing.
  await vi.advanceTimersByTimeAsync(60_000);
  expect(flushes).toHaveLength(2);
});

it('a flush that fails is told to the next commit, once, and is tried again', async () => {
  const { flushes, sync } = model();
  sync.changed();
  await vi.advanceTimersByTimeAsync(5000);
  flushes[0]?.(new Error('EIO'));
  await vi.advanceTimersByTimeAsync(5000);
  expect(() => sync.check()).toThrow('EIO');
  expect(() => sync.check()).not.toThrow();
  expect(flushes).toHaveLength(2);
  flushes[1]?.();
  const stopped = sync.stop();
  await vi.advanceTimersByTimeAsync(5000);
  await stopped;
  expect(flushes).toHaveLength(2);
});
