import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BatchCredit } from '../../../src/host-relay/batch-credit.js';
import { InFlight } from '../../../src/shared/memory/in-flight.js';

const LIMIT = 1600;
const STEP = LIMIT / 16;

let inFlight: InFlight;
let taken: number[];
let held: boolean[];
let credit: BatchCredit;

beforeEach(() => {
  vi.useFakeTimers();
  inFlight = new InFlight(InFlight.create());
  taken = [];
  held = [];
  credit = new BatchCredit(inFlight, LIMIT, {
    taken: (bytes) => taken.push(bytes),
    hold: (is) => held.push(is),
  });
});
afterEach(() => {
  vi.useRealTimers();
});

it('the process is told what was taken, in steps, and no timer is left', () => {
  credit.post(3 * STEP);
  expect(inFlight.bytes).toBe(3 * STEP);
  inFlight.subtract(2 * STEP);
  vi.advanceTimersByTime(2);
  expect(taken).toEqual([2 * STEP]);
  inFlight.subtract(STEP);
  vi.advanceTimersByTime(2);
  expect(taken).toEqual([2 * STEP, 3 * STEP]);
  expect(vi.getTimerCount()).toBe(0);
});

it('less than a step is not told, and needs no timer', () => {
  credit.post(STEP - 1);
  expect(vi.getTimerCount()).toBe(0);
  inFlight.subtract(STEP - 1);
  credit.post(1);
  expect(taken).toEqual([]);
});

it('a process far beyond its bound is not read until the broadcaster has taken enough', () => {
  credit.post(8 * LIMIT);
  expect(held).toEqual([]);
  vi.advanceTimersByTime(2);
  credit.post(1);
  vi.advanceTimersByTime(2);
  expect(held).toEqual([true]);
  inFlight.subtract(LIMIT);
  vi.advanceTimersByTime(2);
  expect(held).toEqual([true, false]);
});

it('with a new broadcaster it is read again, and the old count is of no use', () => {
  credit.post(9 * LIMIT);
  expect(held).toEqual([true]);
  credit.close();
  expect(held).toEqual([true, false]);
  expect(vi.getTimerCount()).toBe(0);
});
