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

/** Statistics from the journal, and when they were requested (Unix epoch ms, by the service's clock). */
export interface JournalStats {
  requestedMs: number;
  stats: Stats;
}

/** What the hub has counted, by this machine's clock. */
export interface LiveCounts {
  seconds: readonly Second[];
  /** The first second that was counted completely, in Unix epoch s; null if there is none yet. */
  since: number | null;
}

/** The data of the chart. */
export interface FlowSeries {
  /** Unix epoch s, by the service's clock. */
  times: number[];
  /** Events per second of each level, in the format of parts/chart.tsx. */
  series: { name: string; colour: string; values: number[] }[];
}

export const NO_SERIES: FlowSeries = seriesOf([], () => 0);

/**
 * The last `length` seconds, without the current one. Seconds without an event are zero; seconds before the hub counted come
 * from the journal.
 *
 * @param aheadMs how far this machine's clock is ahead of the service's.
 */
export function liveSeries(
  length: number,
  { seconds, since }: LiveCounts,
  nowMs: number,
  aheadMs: number,
  history: JournalStats | undefined,
): FlowSeries {
  const ahead = Math.round(aheadMs / 1000);
  const end = Math.floor(nowMs / 1000) - ahead;
  const times = Array.from({ length }, (_, at) => end - length + at);
  const bySecond = new Map(seconds.map((one) => [one[0] - ahead, one]));
  const countingFrom = (since ?? Number.POSITIVE_INFINITY) - ahead;
  const counted = history ? ratesOf(history) : () => 0;
  return seriesOf(times, (time, name) =>
    time >= countingFrom ? (bySecond.get(time)?.[COLUMNS[name]] ?? 0) : counted(time, name),
  );
}

/** The last `length` seconds from the journal, which omits empty buckets. */
export function historySeries(length: number, history: JournalStats): FlowSeries {
  const step = history.stats.step_s;
  const last = Math.floor(history.requestedMs / 1000 / step);
  const count = Math.ceil(length / step);
  const times = Array.from({ length: count }, (_, at) => (last - count + 1 + at) * step);
  return seriesOf(times, ratesOf(history));
}

/** A range that is over, from the journal. The last bucket is drawn up to its end. */
export function pastSeries(fromMs: number, history: JournalStats): FlowSeries {
  const step = history.stats.step_s;
  const first = Math.floor(fromMs / 1000 / step);
  const end = Math.ceil(history.requestedMs / 1000 / step);
  const times = Array.from({ length: end - first + 1 }, (_, at) => (first + at) * step);
  // Its last bucket is counted to its end.
  const isWhole = { ...history, requestedMs: end * step * 1000 };
  return seriesOf(times, ratesOf(isWhole));
}

/** Events per second at a time in s. The newest bucket was incomplete when it was requested. */
function ratesOf({ requestedMs, stats }: JournalStats): (time: number, name: LevelName) => number {
  const step = stats.step_s;
  const byBucket = new Map(stats.buckets.map((bucket) => [bucket.at_ms / 1000, bucket]));
  return (time, name) => {
    if (time * 1000 > requestedMs) return 0;
    const at = Math.floor(time / step) * step;
    const length = Math.min(step, Math.max(1, requestedMs / 1000 - at));
    return countIn(byBucket.get(at), name) / length;
  };
}

function seriesOf(times: number[], valueAt: (time: number, name: LevelName) => number): FlowSeries {
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

/** Events per second over the last whole seconds; undefined until one second has been counted. */
export function rateOf({ seconds, since }: LiveCounts, nowMs: number): number | undefined {
  const now = Math.floor(nowMs / 1000);
  const from = Math.max(now - RATE_SECONDS, since ?? now);
  if (from >= now) return undefined;
  let events = 0;
  for (const one of seconds.slice(-RATE_SECONDS - 2)) {
    if (one[0] < now && one[0] >= from) events += one[1];
  }
  return events / (now - from);
}
