// What threads count for GET /metrics: blocks of cells, and the histograms of their loops.

import { expect, it } from 'vitest';
import { ThreadCounts } from '../../../src/main/threads/thread-counts.js';
import { blockCells, responseCell, STATUSES } from '../../../src/shared/contract/metric-layout.js';
import { ERRORS } from '../../../src/shared/errors.js';
import { Counters, createCounters, setCell, sumOf } from '../../../src/shared/memory/counters.js';
import { createLags, LAG_BOUNDS, LoopLag } from '../../../src/shared/memory/loop-lag.js';
import { ROUTE_NAMES } from '../../../src/shared/routes.js';

it('each block is its own, and the sum is of those that are asked for', () => {
  const shared = createCounters(3, 5);
  const blocks = [0, 1, 2].map((block) => new Counters(shared, block));
  blocks[0]?.add(4, 2);
  blocks[1]?.add(4, 3);
  blocks[2]?.add(4, 100);
  expect([blocks[0]?.get(4), sumOf(shared, 2, 4), sumOf(shared, 3, 4)]).toEqual([2, 5, 105]);
  setCell(shared, 1, 4, 0);
  expect(sumOf(shared, 2, 4)).toBe(2);
});

it('a value is counted in the bucket whose bound it does not exceed', () => {
  const counters = Counters.alone(10);
  for (const value of [0, 1, 1.5, 2, 7]) counters.observe(3, [1, 2], value);
  expect([3, 4, 5, 6].map((cell) => counters.get(cell))).toEqual([2, 2, 1, 11.5]);
});

it('every route has a cell for every status, and any other status has one too', () => {
  const cells = new Set<number>();
  const routes = ROUTE_NAMES.length + 1;
  for (let route = 0; route < routes; route++) {
    for (const status of STATUSES) cells.add(responseCell(route, status));
  }
  expect(cells.size).toBe(routes * STATUSES.length);
  expect(Math.max(...cells)).toBeLessThan(blockCells(routes));
  for (const { status } of Object.values(ERRORS)) {
    expect(responseCell(1, status)).not.toBe(responseCell(1, 0));
  }
  expect(responseCell(1, 418)).toBe(responseCell(1, 0));
});

it('there is room for all routes', () => {
  const { counters } = new ThreadCounts(1, 1).front(0);
  expect(counters.cells).toBeGreaterThanOrEqual(blockCells(ROUTE_NAMES.length + 1));
});

it('threads do not share what is theirs; dedicated hosts have one histogram together', () => {
  const counts = new ThreadCounts(2, 2);
  expect(counts.loops).toEqual([
    'main',
    'broadcaster',
    'front-0',
    'front-1',
    'host-0',
    'host-1',
    'dedicated',
    'journal',
    'rules',
  ]);
  expect([counts.broadcaster.block, counts.front(0).block, counts.front(1).block]).toEqual([
    2, 0, 1,
  ]);
  const loops = [counts.broadcaster.lag, counts.front(0).lag, counts.front(1).lag];
  const hosts = [0, 1, 2, 3].map((host) => counts.host(host));
  expect([...loops, ...hosts].map(({ block }) => block)).toEqual([1, 2, 3, 4, 5, 6, 6]);
  expect(counts.journal.block).toBe(7);
});

it('a timer that is early was in time, and one beyond all bounds is counted too', () => {
  const buffer = createLags(2);
  const lag = new LoopLag({ buffer, block: 1 });
  for (const seconds of [-0.01, 0.0005, 0.03, 60]) lag.observe(seconds);
  const { counts, sum } = lag.read();
  expect(counts.length).toBe(LAG_BOUNDS.length + 1);
  expect([counts[0], counts[LAG_BOUNDS.indexOf(0.05)], counts.at(-1)]).toEqual([2, 1, 1]);
  expect(sum).toBeCloseTo(60.0305, 5);
  expect(new LoopLag({ buffer, block: 0 }).read().sum).toBe(0);
});
