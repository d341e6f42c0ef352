// What the dashboard's chart of events shows: by the service's clock, live and from the journal.

import { describe, expect, it } from 'vitest';
import type { Second } from '../../../dashboard/src/hub/messages.js';
import { short } from '../../../dashboard/src/parts/short.js';
import {
  historySeries,
  type JournalStats,
  liveSeries,
  pastSeries,
  rateOf,
} from '../../../dashboard/src/views/flow-series.js';
import type { Stats } from '../../../src/client/index.js';

const NOW_S = 1_000_000;
const HOUR_S = 3600;

/** @param askedS when the journal was asked. */
function past(step: number, infoAt: Record<number, number>, askedS = NOW_S): JournalStats {
  const buckets = Object.entries(infoAt).map(([at, info]) => ({
    at_ms: Number(at) * 1000,
    levels: { info, warn: 0, error: 0, state: 0 },
    other: 0,
  }));
  return { requestedMs: askedS * 1000, stats: { step_s: step, buckets } as unknown as Stats };
}

function second(at: number, events: number): Second {
  return [at, events, events, 0, 0, 0, 0];
}

function info({ times, series }: ReturnType<typeof liveSeries>): [number, number][] {
  const values = series.find(({ name }) => name === 'info')?.values ?? [];
  return times.map((time, at) => [time, values[at] ?? Number.NaN]);
}

it('a range that is over is drawn from the bucket of its beginning to the end of its last', () => {
  const stats = past(10, { [NOW_S - 20]: 30, [NOW_S - 10]: 60 }, NOW_S - 5);
  expect(info(pastSeries((NOW_S - 27) * 1000, stats))).toEqual([
    [NOW_S - 30, 0],
    [NOW_S - 20, 3],
    // Half of it is in the range, and all of it is counted.
    [NOW_S - 10, 6],
    [NOW_S, 0],
  ]);
});

describe('live', () => {
  it("is by the service's clock, however far ahead this machine's is", () => {
    const here = NOW_S + HOUR_S;
    const shown = liveSeries(
      4,
      {
        since: here - 2,
        seconds: [
          [here - 2, 5, 5, 0, 0, 0, 0],
          [here - 1, 7, 7, 0, 0, 0, 0],
        ],
      },
      here * 1000 + 300,
      HOUR_S * 1000,
      past(10, { [NOW_S - 10]: 30 }),
    );
    expect(info(shown)).toEqual([
      [NOW_S - 4, 3],
      [NOW_S - 3, 3],
      [NOW_S - 2, 5],
      [NOW_S - 1, 7],
    ]);
  });

  it('is what the journal has counted as long as the stream has brought nothing', () => {
    const none = { seconds: [], since: null };
    const shown = liveSeries(2, none, NOW_S * 1000, 0, past(10, { [NOW_S - 10]: 20 }));
    expect(info(shown).map(([, value]) => value)).toEqual([2, 2]);
  });

  it('takes from the journal the second in which the stream was opened, which it has in part', () => {
    const counts = {
      since: NOW_S - 2,
      seconds: [second(NOW_S - 3, 1), second(NOW_S - 2, 8), second(NOW_S - 1, 9)],
    };
    const shown = liveSeries(3, counts, NOW_S * 1000 + 300, 0, past(10, { [NOW_S - 10]: 80 }));
    expect(info(shown).map(([, value]) => value)).toEqual([8, 8, 9]);
  });

  it('has a rate of the last whole seconds', () => {
    const seconds = [second(NOW_S - 6, 100), second(NOW_S - 5, 4), second(NOW_S - 1, 6)];
    const counts = { seconds: [...seconds, second(NOW_S, 100)], since: NOW_S - 100 };
    expect(rateOf(counts, NOW_S * 1000 + 500)).toBe(2);
  });

  it('has a rate of those seconds only that were counted', () => {
    const seconds = [second(NOW_S - 3, 1), second(NOW_S - 2, 8), second(NOW_S - 1, 12)];
    expect(rateOf({ seconds, since: NOW_S - 2 }, NOW_S * 1000)).toBe(10);
    // A quiet second counts too.
    expect(rateOf({ seconds: [], since: NOW_S - 2 }, NOW_S * 1000)).toBe(0);
    expect(rateOf({ seconds, since: NOW_S }, NOW_S * 1000)).toBeUndefined();
    expect(rateOf({ seconds, since: null }, NOW_S * 1000)).toBeUndefined();
  });
});

it('shows the whole of a range of the past, also where there was nothing', () => {
  // The last bucket has begun 3 s ago.
  const shown = historySeries(40, past(10, { [NOW_S - 20]: 10, [NOW_S]: 9 }, NOW_S + 3));
  expect(info(shown)).toEqual([
    [NOW_S - 30, 0],
    [NOW_S - 20, 1],
    [NOW_S - 10, 0],
    [NOW_S, 3],
  ]);
});

it('labels every step of an axis exactly, and a rate shortly', () => {
  const labels = (values: number[]): string[] => values.map((value) => short(value, 3));
  expect(labels([0, 250, 500, 750, 1000, 1250, 1500])).toEqual([
    '0',
    '250',
    '500',
    '750',
    '1k',
    '1.25k',
    '1.5k',
  ]);
  expect(labels([0, 0.25, 0.1 + 0.2, 2_500_000])).toEqual(['0', '0.25', '0.3', '2.5M']);
  expect([1234, 56.78, 0.04].map((value) => short(value))).toEqual(['1.2k', '56.8', '0']);
});
