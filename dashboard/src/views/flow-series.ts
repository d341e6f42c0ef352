// Pure. Owns what the chart of events shows: times, all by the service's clock, and events per second by level.

import type { Stats, StatsBucket } from '../../../src/client/index.js';
import type { Second } from '../hub/messages.js';

const RATE_SECONDS = 5;

const LEVELS = [
  { name: 'error', colour: 'level-error' },
  { name: 'warn', colour: 'level-warn' },
  { name: 'state', colour: 'level-state' },
  { name: 'info', colour: 'level-info' },
  { name: 'other', colour: 'level-other' },
] as const;
type LevelName = (typeof LEVELS)[number]['name'];
const COLUMNS = { info: 2, warn: 3, error: 4, state: 5, other: 6 } as const;

export interface Shown {
  /** Unix epoch s, by the service's clock. */
  times: number[];
  /** Of each level, as the chart takes them (parts/chart.tsx). */
  series: { name: string; colour: string; values: number[] }[];
}

export const NOTHING: Shown = shownOf([], () => 0);

/**
 * The last `length` seconds; the present one is not over. Seconds without an event are zero; before the stream began it is
 * what the journal has counted.
 *
 * @param seconds as the hub counts them, by this machine's clock. @param aheadMs how far that is ahead of the service's.
 */
export function liveSeries(
  length: number,
  seconds: readonly Second[],
  nowMs: number,
  aheadMs: number,
  past: Stats | undefined,
): Shown {
  const ahead = Math.round(aheadMs / 1000);
  const end = Math.floor(nowMs / 1000) - ahead;
  const times = Array.from({ length }, (_, at) => end - length + at);
  const bySecond = new Map(seconds.map((one) => [one[0] - ahead, one]));
  const begun = (seconds[0]?.[0] ?? Number.POSITIVE_INFINITY) - ahead;
  const step = past?.step_s ?? 10;
  const byBucket = bucketsOf(past);
  return shownOf(times, (time, name) => {
    if (time >= begun) return bySecond.get(time)?.[COLUMNS[name]] ?? 0;
    return countIn(byBucket.get(Math.floor(time / step) * step), name) / step;
  });
}

/** The last `length` seconds as the journal has counted them. The answer leaves out what is empty. */
export function pastSeries(length: number, nowMs: number, past: Stats): Shown {
  const { step_s: step } = past;
  const last = Math.floor(nowMs / 1000 / step);
  const count = Math.ceil(length / step);
  const times = Array.from({ length: count }, (_, at) => (last - count + 1 + at) * step);
  const byBucket = bucketsOf(past);
  return shownOf(times, (time, name) => countIn(byBucket.get(time), name) / step);
}

function bucketsOf(past: Stats | undefined): Map<number, StatsBucket> {
  return new Map(past?.buckets.map((bucket) => [bucket.at_ms / 1000, bucket]));
}

function shownOf(times: number[], valueAt: (time: number, name: LevelName) => number): Shown {
  const series = LEVELS.map(({ name, colour }) => ({
    name,
    colour,
    values: times.map((time) => valueAt(time, name)),
  }));
  return { times, series };
}

function countIn(bucket: StatsBucket | undefined, name: LevelName): number {
  return (name === 'other' ? bucket?.other : bucket?.levels[name]) ?? 0;
}

/** Events per second, of the last whole seconds. @param seconds as for {@link liveSeries}. */
export function rateOf(seconds: readonly Second[], nowMs: number): number {
  const now = Math.floor(nowMs / 1000);
  let events = 0;
  for (const one of seconds.slice(-RATE_SECONDS - 2)) {
    if (one[0] < now && one[0] >= now - RATE_SECONDS) events += one[1];
  }
  return events / RATE_SECONDS;
}
