import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Deadlines } from '../../../src/shared/deadlines.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('an entry is late once, at its time', () => {
  const late: string[] = [];
  const deadlines = new Deadlines<{ name: string }>(100, ({ name }) => late.push(name));
  deadlines.add({ name: 'a' });
  vi.advanceTimersByTime(60);
  deadlines.add({ name: 'b' });
  vi.advanceTimersByTime(39);
  expect(late).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(late).toEqual(['a']);
  vi.advanceTimersByTime(60);
  expect(late).toEqual(['a', 'b']);
  vi.advanceTimersByTime(1000);
  expect(late).toEqual(['a', 'b']);
});

it('an entry that is removed in time is never late, and without entries no timer is set', () => {
  const late = vi.fn();
  const deadlines = new Deadlines<object>(100, late);
  for (let n = 0; n < 1000; n++) {
    const entry = {};
    deadlines.add(entry);
    expect(vi.getTimerCount()).toBe(1);
    deadlines.remove(entry);
  }
  vi.advanceTimersByTime(100);
  expect(late).not.toHaveBeenCalled();
  expect(vi.getTimerCount()).toBe(0);
});

it('entries may be added and removed while others are late', () => {
  const late: object[] = [];
  const [first, second, third] = [{}, {}, {}];
  const deadlines = new Deadlines<object>(100, (entry) => {
    late.push(entry);
    if (entry === first) {
      deadlines.remove(second);
      deadlines.add(third);
    }
  });
  deadlines.add(first);
  deadlines.add(second);
  vi.advanceTimersByTime(100);
  expect(late).toEqual([first]);
  vi.advanceTimersByTime(100);
  expect(late).toEqual([first, third]);
});
