// What the table of bots shows after changes, compared with what a look at all bots would show.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ChangedIds } from '../../../dashboard/src/model/changed-ids.js';
import { ShownBots } from '../../../dashboard/src/views/shown-bots.js';
import type { BotSnapshot } from '../../../src/client/index.js';

const bot = (id: string, restarts: number): BotSnapshot => ({ id, restarts }) as BotSnapshot;
const byRestarts = (a: BotSnapshot, b: BotSnapshot): number =>
  a.restarts - b.restarts || (a.id < b.id ? -1 : 1);

function world(isTimed = false) {
  const bots = new Map<string, BotSnapshot>();
  const changed = new ChangedIds(40);
  let ordered = 0;
  const test = ({ restarts }: BotSnapshot, now: number): boolean =>
    restarts % 2 === 0 || now > 1000;
  const shown = new ShownBots({
    bots,
    changed,
    test,
    isTimed,
    order: (of) => {
      ordered += of.length;
      return byRestarts;
    },
  });
  const set = (id: string, restarts: number | null): void => {
    if (restarts === null) bots.delete(id);
    else bots.set(id, bot(id, restarts));
    changed.add(id);
  };
  const expected = (now = 0) => [...bots.values()].filter((one) => test(one, now)).sort(byRestarts);
  return { bots, changed, shown, set, expected, orderedSince: () => ordered };
}

it('shows what a look at all bots would show, after any changes', () => {
  const change = fc.tuple(
    fc.integer({ min: 0, max: 99 }),
    fc.option(fc.integer({ min: 0, max: 30 }), { freq: 4 }),
  );
  const step = fc.oneof(
    { weight: 9, arbitrary: fc.array(change, { maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constant('all' as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const { bots, changed, shown, set, expected } = world();
      for (let id = 0; id < 90; id++) set(`bot-${id}`, id % 20);
      for (const changes of steps) {
        if (changes === 'all') {
          bots.clear();
          changed.forget();
        } else for (const [id, restarts] of changes) set(`bot-${id}`, restarts);
        expect(shown.look(0)).toEqual(expected());
      }
    }),
  );
});

it('looks only at those that changed, and at all when it is too far behind', () => {
  const { shown, set, expected, orderedSince } = world();
  for (let id = 0; id < 1000; id++) set(`bot-${id}`, 2 * id);
  const first = shown.look(0);
  expect(shown.look(0)).toBe(first);
  const before = orderedSince();
  set('bot-7', 4000);
  set('bot-8', 3);
  expect(shown.look(0)).toEqual(expected());
  expect(orderedSince()).toBe(before + 1);
  for (let id = 0; id < 100; id++) set(`bot-${id}`, 5000);
  expect(shown.look(0)).toEqual(expected());
  expect(orderedSince()).toBeGreaterThan(before + 900);
});

it('looks at all bots again when the query depends on the time', () => {
  const { shown, set, expected } = world(true);
  for (let id = 0; id < 10; id++) set(`bot-${id}`, id);
  expect(shown.look(0)).toHaveLength(5);
  expect(shown.look(2000)).toEqual(expected(2000));
});
