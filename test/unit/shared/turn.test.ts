import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { SlowTurn } from '../../../src/shared/contract/slow-turn.js';
import { watchLag } from '../../../src/shared/lag-watch.js';
import { createLags } from '../../../src/shared/memory/loop-lag.js';
import { nowRuns, running, takeLongest } from '../../../src/shared/turn.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('what took longest is told, not what came last', () => {
  takeLongest();
  nowRuns('short');
  vi.advanceTimersByTime(5);
  nowRuns('long');
  vi.advanceTimersByTime(1500);
  nowRuns('last');
  vi.advanceTimersByTime(1);
  expect(running()).toBe('last');
  expect(takeLongest()).toBe('long');
  expect(takeLongest()).toBeUndefined();
});

it('a turn of over a second is reported after it with what ran, a shorter one is not', () => {
  const turns: SlowTurn[] = [];
  const lag = watchLag(
    { buffer: createLags(1), block: 0 },
    { slow: (turn) => turns.push(turn), describe: (work) => JSON.stringify(work) },
  );
  const real = performance.now.bind(performance);
  let held = 0;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => real() + held);
  lag.note();
  nowRuns({ path: '/slow' });
  held += 800;
  nowRuns('next');
  vi.advanceTimersByTime(100);
  expect(turns).toEqual([]);
  lag.note();
  nowRuns({ path: '/slow' });
  held += 1000;
  nowRuns('next');
  vi.advanceTimersByTime(100);
  now.mockRestore();
  lag.stop();
  expect(turns).toEqual([expect.objectContaining({ what: '{"path":"/slow"}' })]);
  expect(turns[0]?.forMs).toBeGreaterThanOrEqual(1000);
});
