import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { StartPace } from '../../../src/main/bots/start-pace.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Starts `id` as a bot does: now, or at its turn. @returns its place, when it has to wait. */
function start(pace: StartPace, started: string[], id: string, kind = 'a', lane = 'many') {
  const asked = lane === 'one' ? 'one' : 'many';
  if (!pace.tryTake(kind, asked)) return pace.join(kind, asked, () => void started.push(id));
  started.push(id);
  return undefined;
}

describe('without a limit', () => {
  it('every bot starts at once, also beside a kind that is limited', () => {
    const pace = new StartPace({ total: null, byKind: { slow: 1 } });
    const started: string[] = [];
    for (let n = 0; n < 1000; n++) expect(start(pace, started, `${n}`)).toBeUndefined();
    start(pace, started, 'slow-1', 'slow');
    expect(start(pace, started, 'slow-2', 'slow')).toBeDefined();
    expect(start(pace, started, 'last')).toBeUndefined();
    expect(vi.getTimerCount()).toBe(1);
  });
});

describe('with a limit', () => {
  it('the first bot starts at once, the others evenly spread and in order', () => {
    const pace = new StartPace({ total: 10, byKind: {} });
    const started: string[] = [];
    for (let n = 0; n < 5; n++) start(pace, started, `${n}`);
    expect(started).toEqual(['0']);
    for (let n = 1; n < 5; n++) {
      vi.advanceTimersByTime(99);
      expect(started).toHaveLength(n);
      vi.advanceTimersByTime(1);
      expect(started).toHaveLength(n + 1);
    }
    expect(started).toEqual(['0', '1', '2', '3', '4']);
    expect(vi.getTimerCount()).toBe(0);
    // The next one has its own turn, and what was not used meanwhile is not saved up.
    vi.advanceTimersByTime(60_000);
    start(pace, started, '5');
    start(pace, started, '6');
    expect(started.at(-1)).toBe('5');
  });

  it('never has more starts in a second than the limit and one', () => {
    const pace = new StartPace({ total: 50, byKind: { a: 20 } });
    const times: number[] = [];
    const begun = performance.now();
    for (let n = 0; n < 300; n++) {
      const kind = n % 3 === 0 ? 'a' : 'b';
      const go = (): void => void times.push(performance.now() - begun);
      if (pace.tryTake(kind, 'many')) go();
      else pace.join(kind, 'many', go);
    }
    vi.advanceTimersByTime(10_000);
    expect(times).toHaveLength(300);
    for (const from of times) {
      expect(times.filter((at) => at >= from && at < from + 1000).length).toBeLessThanOrEqual(51);
    }
    expect(times.at(-1)).toBeLessThan(6100);
  });

  it('says how many bots come before, how long that takes, and which setting it is', () => {
    const pace = new StartPace({ total: 10, byKind: { slow: 0.5 } });
    const started: string[] = [];
    for (let n = 0; n < 101; n++) start(pace, started, `${n}`);
    expect(start(pace, started, 'next')).toMatchObject({
      ahead: 100,
      waitMs: 100 + 100 * 100,
      setting: 'hosts.starts_per_second',
    });
    for (let n = 0; n < 10; n++) start(pace, started, `slow-${n}`, 'slow');
    expect(start(pace, started, 'slow-next', 'slow')).toMatchObject({
      ahead: 10,
      waitMs: 10 * 2000,
      setting: 'hosts.starts_per_second_by_kind',
    });
  });

  it('a bot that is started alone comes before those that start together, at the same rate', () => {
    const pace = new StartPace({ total: 1, byKind: {} });
    const started: string[] = [];
    for (let n = 0; n < 5000; n++) start(pace, started, `${n}`);
    expect(start(pace, started, 'mine', 'b', 'one')).toMatchObject({ ahead: 0, waitMs: 1000 });
    expect(start(pace, started, 'yours', 'a', 'one')).toMatchObject({ ahead: 1, waitMs: 2000 });
    vi.advanceTimersByTime(3000);
    expect(started).toEqual(['0', 'mine', 'yours', '1']);
  });

  it('a kind that waits does not hold up the others', () => {
    const pace = new StartPace({ total: 100, byKind: { slow: 1 } });
    const started: string[] = [];
    for (let n = 0; n < 10; n++) start(pace, started, `slow-${n}`, 'slow');
    for (let n = 0; n < 10; n++) start(pace, started, `fast-${n}`);
    vi.advanceTimersByTime(110);
    expect(started.filter((id) => id.startsWith('fast'))).toHaveLength(10);
    expect(started.filter((id) => id.startsWith('slow'))).toHaveLength(1);
    vi.advanceTimersByTime(9000);
    expect(started).toHaveLength(20);
  });

  it('a bot that leaves gives its turn to the next, and the timer ends with the last', () => {
    const pace = new StartPace({ total: 1, byKind: {} });
    const started: string[] = [];
    start(pace, started, 'first');
    const second = start(pace, started, 'second');
    const third = start(pace, started, 'third');
    second?.leave();
    vi.advanceTimersByTime(1000);
    expect(started).toEqual(['first', 'third']);
    third?.leave();
    start(pace, started, 'fourth')?.leave();
    expect(vi.getTimerCount()).toBe(0);
  });

  it('after a pause of the thread the starts that were due do not all come at once', () => {
    let now = 0;
    const pace = new StartPace({ total: 100, byKind: {} }, () => now);
    const started: string[] = [];
    for (let n = 0; n < 1000; n++) start(pace, started, `${n}`);
    now = 5000;
    vi.advanceTimersByTime(10);
    expect(started.length).toBeLessThanOrEqual(12);
    expect(started.length).toBeGreaterThan(5);
  });
});

it('other limits hold at once, also for bots that wait', () => {
  const pace = new StartPace({ total: null, byKind: { a: 1 } });
  const started: string[] = [];
  for (let n = 0; n < 5; n++) start(pace, started, `${n}`);
  expect(started).toEqual(['0']);
  pace.change({ total: 10, byKind: {} });
  vi.advanceTimersByTime(0);
  expect(started).toEqual(['0', '1']);
  vi.advanceTimersByTime(100);
  expect(started).toEqual(['0', '1', '2']);
  pace.change({ total: null, byKind: {} });
  vi.advanceTimersByTime(0);
  expect(started).toEqual(['0', '1', '2', '3', '4']);
  expect(vi.getTimerCount()).toBe(0);
});
