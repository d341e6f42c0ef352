// How often a host near its memory limit collects garbage. Only the clock is mocked.

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it, onTestFinished, vi } from 'vitest';

const MB = 2 ** 20;

it('near the limit garbage is collected once a second, or when half the limit has been added', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  let collections = 0;
  globalThis.gc = (async () => {
    collections += 1;
    collect();
  }) as NodeJS.GCFunction;
  const { memoryUsed } = await import('../../../src/bot-host/memory.js');
  // Hidden from bots.
  expect(globalThis.gc).toBeUndefined();
  let now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => void vi.restoreAllMocks());

  collect();
  const hoard = [Buffer.alloc(20 * MB, 1)];
  const before = memoryUsed(Number.POSITIVE_INFINITY);
  expect(collections).toBe(0);
  // Slightly above the limit.
  const limit = before - 10 * MB;
  const told: number[] = [];
  for (; now < 3000; now += 100) told.push(memoryUsed(limit));
  // Each is two: the second waits for what the first has freed.
  expect(collections).toBe(6);
  for (const [n, bytes] of told.entries()) {
    if (n % 10 === 0) expect(bytes).toBeGreaterThan(limit);
    else expect(bytes).toBe(limit);
  }
  memoryUsed(limit);
  expect(collections).toBe(8);
  hoard.push(Buffer.alloc(Math.ceil(limit / 2) + 10 * MB, 1));
  expect(memoryUsed(limit)).toBeGreaterThan(1.4 * limit);
  expect(collections).toBe(10);
  expect(hoard).toHaveLength(2);
});
