// Run by vitest. Counts of bots that are kept as snapshots come in, against a recount of all.

import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { BotCounts, OTHER_STATUS } from '../../../src/front/bots/bot-counts.js';

type Bot = { kind: string; status: string };

it('match a recount after any sequence of changes', () => {
  const state = fc.option(
    fc.record({
      kind: fc.constantFrom('a', 'b'),
      status: fc.constantFrom('running', 'stopped', 'in_world'),
    }),
    { nil: undefined },
  );
  const step = fc.tuple(fc.nat(5), state);
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const counts = new BotCounts();
      const bots = new Map<number, Bot>();
      for (const [id, after] of steps) {
        counts.change(bots.get(id), after);
        if (after) bots.set(id, after);
        else bots.delete(id);
      }
      const recount = new Map<string, number>();
      for (const { kind, status } of bots.values()) {
        recount.set(`${kind} ${status}`, (recount.get(`${kind} ${status}`) ?? 0) + 1);
      }
      const listed = counts.list().map(({ kind, status, count }) => [`${kind} ${status}`, count]);
      expect(new Map(listed as [string, number][])).toEqual(recount);
    }),
  );
});

it('name a bounded number of statuses; the rest is one', () => {
  const counts = new BotCounts();
  for (let n = 0; n < 1000; n++) counts.change(undefined, { kind: 'a', status: `level_${n}` });
  counts.change(undefined, { kind: 'a', status: 'failed' });
  const list = counts.list();
  expect(list.length).toBe(22);
  expect(list).toContainEqual({ kind: 'a', status: 'failed', count: 1 });
  expect(list).toContainEqual({ kind: 'a', status: OTHER_STATUS, count: 980 });
  counts.clear();
  expect(counts.list()).toEqual([]);
});

it('as many statuses as bots are looked up, not searched', () => {
  const counts = new BotCounts();
  const bots = 3000;
  for (let at = 0; at < bots; at++) counts.change(undefined, { kind: 'a', status: `own ${at}` });
  let steps = 0;
  const { includes } = Array.prototype;
  vi.spyOn(Array.prototype, 'includes').mockImplementation(function (this: unknown[], ...args) {
    steps += this.length;
    return includes.apply(this, args);
  });
  try {
    expect(counts.list().at(-1)).toEqual({ kind: 'a', status: OTHER_STATUS, count: bots - 20 });
  } finally {
    vi.restoreAllMocks();
  }
  expect(steps).toBeLessThan(bots);
});
