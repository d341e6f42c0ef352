// Statistics of the events that match a query. The time of the lines is the test's.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { StatsAnswer } from '../../../src/shared/contract/journal-messages.js';
import { journalDir, keyOfQuery, keyOfSessions, Life, logItem } from '../../harness/journal.js';

const START = Date.parse('2026-11-24T14:00:00Z');
const SECOND = 1000;
let life: Life;
beforeEach(async () => {
  life = await Life.begin(journalDir(), { ringBytes: 2 ** 24 });
  await life.on();
});
afterEach(() => {
  vi.restoreAllMocks();
  return life.end();
});

/** Lines at seconds after the start. */
function say(at: readonly number[], over: Parameters<typeof logItem>[1] = {}, text = 'line'): void {
  life.broadcaster.publish(
    at.map((seconds) =>
      logItem(`${text} ${seconds}`, { ...over, timestamp_ms: START + seconds * SECOND }),
    ),
  );
}

async function counts(
  filter: string | null,
  { stepS = 1, after = START, before = START + 60 * SECOND } = {},
): Promise<StatsAnswer> {
  const { body } = await life.journal.answers.stats({
    token: 'a',
    after,
    before,
    stepS,
    search: { filter },
  });
  return JSON.parse(Buffer.from(body).toString()) as StatsAnswer;
}

const shown = ({ buckets }: StatsAnswer): [second: number, levels: object][] =>
  buckets.map(({ at_ms, levels }) => [
    (at_ms - START) / SECOND,
    Object.fromEntries(Object.entries(levels).filter(([, count]) => count > 0)),
  ]);

it('counts by level what has the text, in steps of a second', async () => {
  say([1, 1, 2]);
  say([2, 5], { level: 'error' });
  say([2, 5, 61], {}, 'other');
  const all = await counts(keyOfQuery('line'));
  expect(all).toMatchObject({ step_s: 1, counted_from_ms: null });
  expect(shown(all)).toEqual([
    [1, { info: 2 }],
    [2, { info: 1, error: 1 }],
    [5, { error: 1 }],
  ]);
  // Both ends of the range.
  const part = await counts(null, { after: START + 2 * SECOND, before: START + 5 * SECOND });
  expect(shown(part)).toEqual([[2, { info: 2, error: 1 }]]);
  expect(shown(await counts(keyOfQuery('nothing')))).toEqual([]);
});

it('counts the lines of one bot', async () => {
  say([1, 3], { session_id: 'a' });
  say([1, 2, 3], { session_id: 'b' });
  expect(shown(await counts(keyOfSessions('a'), { stepS: 10 }))).toEqual([[0, { info: 2 }]]);
});

it.each([null, 'line'])(
  'a count that takes long continues, and misses nothing (text %j)',
  async (text) => {
    for (let minute = 0; minute < 60; minute++) {
      say(
        Array.from({ length: 100 }, () => 60 * minute),
        {},
        `line ${'x'.repeat(400)}`,
      );
    }
    // The clock of the count: each look at it takes a while.
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => {
      now += 150;
      return now;
    });
    const found: [number, object][] = [];
    let answers = 0;
    for (let before: number | null = START + 3600 * SECOND; before !== null; answers++) {
      const answer = await counts(text === null ? null : keyOfQuery(text), { before, stepS: 60 });
      found.unshift(...shown(answer));
      const from: number | null = answer.counted_from_ms ?? null;
      if (from !== null) expect(from).toBeLessThan(before);
      before = from;
    }
    expect(answers).toBeGreaterThan(2);
    expect(found).toEqual(Array.from({ length: 60 }, (_, minute) => [60 * minute, { info: 100 }]));
  },
);

it('refuses more points than an answer has', async () => {
  await expect(counts(null, { after: START - 2_000_000 })).rejects.toMatchObject({
    code: 'bad_request',
  });
});
