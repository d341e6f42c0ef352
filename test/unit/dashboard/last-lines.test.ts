// The search for the last line of each bot: complete, and in few requests, however much some bots say.

import { describe, expect, it } from 'vitest';
import { MOST_IDS, searchLastLines } from '../../../dashboard/src/model/last-line-search.js';

const PAGE = 1000;

interface Journalled {
  bot: string;
  at: number;
}

interface Options {
  /** Lines of a page. */
  most?: number;
  isPartial?: boolean;
  /** The page has no bots before the first answer. */
  isEarly?: boolean;
}

/** A page of bots over a journal. */
function search(
  journal: readonly Journalled[],
  wanted: readonly string[],
  { most = PAGE, isPartial = false, isEarly = false }: Options = {},
) {
  const newest = [...journal].sort((a, b) => b.at - a.at);
  const known = new Map<string, number>();
  const without = new Set<string>();
  const asked: (number | undefined)[] = [];
  let reached = Number.POSITIVE_INFINITY;
  const parts = {
    ask: async (ids: readonly string[] | undefined, cursor: string | undefined) => {
      asked.push(ids?.length);
      const fitting = newest.filter(({ bot }) => ids === undefined || ids.includes(bot));
      const from = Number(cursor ?? 0);
      const lines = fitting.slice(from, from + most);
      for (const { bot, at } of lines) if (!known.has(bot)) known.set(bot, at);
      const isLast = from + most >= fitting.length;
      return { lines, isLast, isPartial, cursor: isLast ? undefined : String(from + most) };
    },
    missing: () =>
      isEarly && known.size === 0 ? [] : wanted.filter((id) => !known.has(id) && !without.has(id)),
    reached: (ms: number) => {
      reached = ms;
    },
    without: (ids: readonly string[]) => {
      for (const id of ids) without.add(id);
    },
  };
  const run = (isThorough: boolean) => searchLastLines(parts, isThorough);
  return { run, known, without, asked, reached: () => reached };
}

const ids = (name: string, count: number): string[] =>
  Array.from({ length: count }, (_, at) => `${name}-${at}`);
/** Each bot says something every `everyMs` for so long, the last time at 0. */
const says = (bots: readonly string[], lines: number, everyMs: number, lastAt = 0): Journalled[] =>
  bots.flatMap((bot) =>
    Array.from({ length: lines }, (_, at) => ({ bot, at: lastAt - at * everyMs })),
  );

describe('the search for last lines', () => {
  it('looks at one page where no table asks for more, and says how far it has looked', async () => {
    const loud = ids('loud', 10);
    const found = search([...says(loud, 500, 1), { bot: 'quiet', at: -9000 }], [...loud, 'quiet']);
    await found.run(false);
    expect(found.asked).toEqual([undefined]);
    expect(found.known.has('quiet')).toBe(false);
    expect(found.reached()).toBe(-99);
  });

  it('finds those that say little by their ids, after one page of all', async () => {
    const loud = ids('loud', 10);
    const quiet = ids('quiet', 100);
    const journal = [...says(loud, 5000, 1), ...says(quiet, 3, 10, -90_000)];
    const found = search(journal, [...loud, ...quiet]);
    await found.run(true);
    expect([...found.known.keys()].sort()).toEqual([...loud, ...quiet].sort());
    expect(found.known.get('quiet-7')).toBe(-90_000);
    expect(found.asked).toEqual([undefined, MOST_IDS, 100 - MOST_IDS]);
  });

  it.each([false, true])(
    'reads on as long as pages of all bots find many, bots that come late: %s',
    async (isEarly) => {
      const all = ids('bot', 2000);
      const journal = all.map((bot, at) => ({ bot, at: -at }));
      const found = search([...journal, ...says(['loud'], 3000, 1, -3000)], [...all, 'loud'], {
        isEarly,
      });
      await found.run(true);
      expect(found.known.size).toBe(2001);
      expect(found.asked.slice(0, 2)).toEqual([undefined, undefined]);
      expect(found.asked.length).toBeLessThanOrEqual(4);
    },
  );

  it('says of which bots the journal has no line, also where a page of ids is full of others', async () => {
    const journal = [
      ...says(ids('loud', 3), 1000, 1),
      ...says(['chatty'], 2500, 1, -5000),
      { bot: 'shy', at: -99_000 },
    ];
    const found = search(journal, ['chatty', 'shy', 'mute']);
    await found.run(true);
    expect(found.known.get('shy')).toBe(-99_000);
    expect(found.known.get('chatty')).toBe(-5000);
    expect([...found.without]).toEqual(['mute']);
    const small = search([{ bot: 'a', at: 1 }], ['a', 'mute']);
    await small.run(false);
    expect([...small.without]).toEqual(['mute']);
  });

  it('says nothing of those that it has not found where a node did not answer', async () => {
    for (const journal of [[{ bot: 'a', at: 1 }], says(['loud'], 2500, 1)]) {
      const found = search(journal, ['a', 'mute'], { isPartial: true });
      await found.run(true);
      expect(found.without.size).toBe(0);
      expect(found.reached()).toBe(Number.POSITIVE_INFINITY);
      expect(found.asked.length).toBeLessThan(5);
    }
  });

  it('ends after a bounded number of pages', async () => {
    const all = ids('bot', 5000);
    const found = search(says(all, 1, 1), all, { most: 50 });
    await found.run(true);
    expect(found.asked.length).toBeLessThanOrEqual(40);
    expect(found.without.size).toBe(0);
  });
});
