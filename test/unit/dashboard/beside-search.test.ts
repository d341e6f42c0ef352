// The search of the journal beside incidents, and the range that it has.

import { expect, it } from 'vitest';
import {
  BesideSearch,
  extendAll,
  type Found,
} from '../../../dashboard/src/problems/beside-search.js';
import { fitted } from '../../../dashboard/src/problems/fitted-range.js';
import type { EventsPage, EventsQuery, StreamEvent } from '../../../src/client/index.js';

const MINUTE_MS = 60_000;
const { signal } = new AbortController();

function line(at: number): StreamEvent {
  const data = { timestamp_ms: at, level: 'info', scope: 'dispatch', message: `m ${at}` };
  return { event: 'log', id: `e-${at}`, data } as StreamEvent;
}

/** A journal that answers with pages of one event each, the newest first. */
function journalOf(times: number[], missing: { node: string; reason: string }[] = []) {
  const asked: EventsQuery[] = [];
  const read = async (query: EventsQuery): Promise<EventsPage> => {
    asked.push(query);
    const { after, before, cursor } = query;
    const end = cursor === undefined ? Number(before) : Number(cursor);
    const found = times.filter((at) => at >= Number(after) && at < end).sort((a, b) => b - a);
    const [at] = found;
    return {
      events: at === undefined ? [] : [line(at)],
      cursor: found.length > 1 ? String(at) : null,
      missing,
    };
  };
  return { asked, read };
}
const timesOf = ({ events }: Found): number[] =>
  events
    .map((event) => (event.event === 'log' ? event.data.timestamp_ms : 0))
    .sort((a, b) => a - b);

it('shows what it has page by page; a range that moves on is searched where it is new', async () => {
  const times = [100_000, 200_000, 300_000];
  const { asked, read } = journalOf(times);
  const search = new BesideSearch(read);
  const parts: number[][] = [];
  const show = (found: Found): void => {
    expect(found.isWhole).toBe(false);
    parts.push(timesOf(found));
  };
  const first = await search.extend({ after: 0, before: 400_000 }, signal, show);
  expect(parts).toEqual([[300_000], [200_000, 300_000]]);
  expect(timesOf(first)).toEqual(times);
  expect(first).toMatchObject({ isWhole: true, isCut: false, missing: [] });
  times.push(450_000);
  const next = await search.extend({ after: 150_000, before: 500_000 }, signal, show);
  // With a margin for what comes late.
  expect(asked.at(-1)).toMatchObject({ after: 390_000, before: 500_000 });
  expect(timesOf(next)).toEqual([200_000, 300_000, 450_000]);
  expect(next.isWhole).toBe(true);
});

it('another range is searched from its beginning', async () => {
  const { asked, read } = journalOf([100_000, 300_000]);
  const search = new BesideSearch(read);
  await search.extend({ after: 200_000, before: 400_000 }, signal, () => {});
  const found = await search.extend({ after: 0, before: 400_000 }, signal, () => {});
  expect(asked.at(-1)).toMatchObject({ after: 0 });
  expect(timesOf(found)).toEqual([100_000, 300_000]);
});

it('what a node did not answer is asked again', async () => {
  const { asked, read } = journalOf([100_000], [{ node: 'b', reason: 'no answer' }]);
  const search = new BesideSearch(read);
  const found = await search.extend({ after: 0, before: 400_000 }, signal, () => {});
  expect(found.missing).toEqual(['b']);
  await search.extend({ after: 0, before: 500_000 }, signal, () => {});
  expect(asked.at(-1)).toMatchObject({ after: 0, before: 500_000 });
});

it('a change is not lost behind many commands, and what is known of both is shown', async () => {
  const commands = Array.from({ length: 1000 }, (_, n) => line(300_000 + n));
  const searches = [
    new BesideSearch(journalOf([100_000, 200_000]).read),
    new BesideSearch(async () => ({ events: commands, cursor: 'more' })),
  ];
  const parts: Found[] = [];
  const show = (found: Found): unknown => parts.push(found);
  const found = await extendAll(searches, { after: 0, before: 400_000 }, signal, show);
  expect(timesOf(found).slice(0, 3)).toEqual([100_000, 200_000, 300_000]);
  expect(found).toMatchObject({ isWhole: false, isCut: true });
  // Never one without the other.
  expect(parts.length).toBeGreaterThan(0);
  for (const { events } of parts) expect(events.length).toBeGreaterThan(1000);
});

it('is bounded, and says so', async () => {
  const many = Array.from({ length: 1000 }, (_, n) => line(n));
  const search = new BesideSearch(async () => ({ events: many, cursor: 'more' }));
  const found = await search.extend({ after: 0, before: 400_000 }, signal, () => {});
  expect(found).toMatchObject({ isWhole: false, isCut: true });
});

it('the range without a beginning is the shortest that has all incidents of the day', () => {
  const before = 2_000_000 * MINUTE_MS;
  const day = { after: before - 1440 * MINUTE_MS, before };
  const lengthWhen = (firstMs: number | undefined): number =>
    (before - fitted(day, firstMs).after) / MINUTE_MS;
  expect(lengthWhen(undefined)).toBe(1440);
  expect(lengthWhen(before - MINUTE_MS)).toBe(15);
  // Half an hour fills half an hour to its edge: the one before it is not to be missed.
  expect(lengthWhen(before - 30 * MINUTE_MS)).toBe(60);
  expect(lengthWhen(before - 32 * MINUTE_MS)).toBe(60);
  expect(lengthWhen(before - 1000 * MINUTE_MS)).toBe(1440);
});
