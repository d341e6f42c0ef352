// How long the client's stream waits before it is opened again.

import { expect, it } from 'vitest';
import { backoffMs } from '../../../src/client/backoff.js';

it('doubles with each failure, up to the longest wait', () => {
  const waits = [1, 2, 3, 4, 5, 60].map((n) => backoffMs(n, { firstMs: 300, maxMs: 3000 }, 0));
  expect(waits).toEqual([300, 600, 1200, 2400, 3000, 3000]);
});

it('is shortened by up to a half, at random', () => {
  expect(backoffMs(1, { firstMs: 1000 }, 0.5)).toBe(750);
  expect(backoffMs(1, { firstMs: 1000 }, 1)).toBe(500);
});

it('begins with a second and ends with 30 when nothing else is said', () => {
  expect(backoffMs(1, {}, 0)).toBe(1000);
  expect(backoffMs(99, {}, 0)).toBe(30_000);
});

it('is never shorter than a quarter of a second before the jitter, with any options', () => {
  expect(backoffMs(1, { firstMs: 0 }, 0)).toBe(250);
  expect([1, 2, 3].map((n) => backoffMs(n, { firstMs: 5 }, 0))).toEqual([250, 500, 1000]);
  expect(backoffMs(9, { firstMs: 0, maxMs: 0 }, 1)).toBe(125);
});

it('is as long as the service asks for, and never longer than a timer can be', () => {
  expect(backoffMs(1, {}, 0, 90_000)).toBe(90_000);
  expect(backoffMs(1, {}, 0, 10)).toBe(1000);
  for (const wait of [backoffMs(1, {}, 0, 1e15), backoffMs(2000, { maxMs: Infinity }, 0)]) {
    expect(wait).toBe(2 ** 31 - 1);
  }
});
