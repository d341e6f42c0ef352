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

/** What the journal has counted, and when it was asked (Unix epoch ms, by the service's clock). */
export interface Past {
  askedMs: number;
  stats: Stats;
}

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
  past: Past | undefined,
): Shown {
  const ahead = Math.round(aheadMs / 1000);
  const end = Math.floor(nowMs / 1000) - ahead;
  const times = Array.from({ length }, (_, at) => end - length + at);
  const bySecond = new Map(seconds.map((one) => [one[0] - ahead, one]));
  const begun = (seconds[0]?.[0] ?? Number.POSITIVE_INFINITY) - ahead;
  const counted = past ? ratesOf(past) : () => 0;
  return shownOf(times, (time, name) =>
    time >= begun ? (bySecond.get(time)?.[COLUMNS[name]] ?? 0) : counted(time, name),
  );
}

/** The last `length` seconds as the journal has counted them. The answer leaves out what is empty. */
export function pastSeries(length: number, past: Past): Shown {
  const step = past.stats.step_s;
  const last = Math.floor(past.askedMs / 1000 / step);
  const count = Math.ceil(length / step);
  const times = Array.from({ length: count }, (_, at) => (last - count + 1 + at) * step);
  return shownOf(times, ratesOf(past));
}

/** Events per second at a time in s. The newest bucket was not full when it was asked for. */
function ratesOf({ askedMs, stats }: Past): (time: number, name: LevelName) => number {
  const step = stats.step_s;
  const byBucket = new Map(stats.buckets.map((bucket) => [bucket.at_ms / 1000, bucket]));
  return (time, name) => {
    // What came after that it does not know.
    if (time * 1000 > askedMs) return 0;
    const at = Math.floor(time / step) * step;
    const length = Math.min(step, Math.max(1, askedMs / 1000 - at));
    return countIn(byBucket.get(at), name) / length;
  };
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
