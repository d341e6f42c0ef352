// How long the client's stream waits before it is opened again.

import { expect, it } from 'vitest';
import { backoffMs } from '../../src/client/backoff.js';

it('doubles with each failure, up to the longest wait', () => {
  const waits = [1, 2, 3, 4, 5, 60].map((n) => backoffMs(n, { firstMs: 100, maxMs: 1000 }, 0));
  expect(waits).toEqual([100, 200, 400, 800, 1000, 1000]);
});

it('is shortened by up to a half, at random', () => {
  expect(backoffMs(1, { firstMs: 1000 }, 0.5)).toBe(750);
  expect(backoffMs(1, { firstMs: 1000 }, 1)).toBe(500);
});

it('begins with a second and ends with 30 when nothing else is said', () => {
  expect(backoffMs(1, {}, 0)).toBe(1000);
  expect(backoffMs(99, {}, 0)).toBe(30_000);
});
