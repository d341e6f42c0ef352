import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ActivityTimer } from '../../../src/shared/activity-timer.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The events of a timer with a period of 100 ms, in order. */
function create(ownNotes = 0) {
  const seen: string[] = [];
  const timer: ActivityTimer = new ActivityTimer(
    100,
    {
      begin: () => seen.push('begin'),
      tick(lateMs) {
        for (let n = 0; n < ownNotes; n++) timer.note();
        seen.push(`tick ${lateMs}`);
      },
      end: () => seen.push('end'),
    },
    { ownNotes },
  );
  return { timer, take: () => seen.splice(0) };
}

it('ticks from a note until two periods were without one', () => {
  const { timer, take } = create();
  vi.advanceTimersByTime(1000);
  expect(take()).toEqual([]);
  timer.note();
  expect(take()).toEqual(['begin']);
  for (let n = 0; n < 3; n++) {
    vi.advanceTimersByTime(99);
    timer.note();
    vi.advanceTimersByTime(1);
    expect(take()).toEqual(['tick 0']);
  }
  vi.advanceTimersByTime(100);
  expect(take()).toEqual(['tick 0']);
  vi.advanceTimersByTime(100);
  expect(take()).toEqual(['tick 0', 'end']);
  vi.advanceTimersByTime(1000);
  expect(take()).toEqual([]);
  expect(vi.getTimerCount()).toBe(0);
  timer.note();
  expect(take()).toEqual(['begin']);
});

it('says how late it is when the loop was blocked', () => {
  const { timer, take } = create();
  timer.note();
  const real = performance.now.bind(performance);
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + 250);
  vi.advanceTimersByTime(100);
  expect(take()).toEqual(['begin', 'tick 250']);
  now.mockRestore();
});

it('does not keep itself running by its own notes', () => {
  const { timer, take } = create(1);
  timer.note();
  vi.advanceTimersByTime(100);
  // The first period has the note that a tick causes too: this one comes before the next.
  vi.advanceTimersByTime(500);
  expect(take().filter((event) => event === 'end')).toHaveLength(1);
  expect(vi.getTimerCount()).toBe(0);
});

it('does nothing more when it was stopped', () => {
  const { timer, take } = create();
  timer.note();
  timer.stop();
  timer.note();
  vi.advanceTimersByTime(1000);
  expect(take()).toEqual(['begin']);
});
