// Publish-to-receive at three rates: of 1,000 events/s measured here, of the others in their own parts.

import { type Metric, medianMetric, type TimedPlan } from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import { BARE, BARE_AGAIN, BEFORE, type Feed, ON_NODE, SUBJECT } from '../streams/feeds.js';
import { type Clients, type StreamMeasurement, streamContender } from '../streams/measurement.js';
import { streamTable } from '../streams/stream-table.js';
import { type LoadResult, STEADY, titleOf } from './loads.js';

const STEADY_P99_MS = 20;
const STEADY_NAMES = [SUBJECT, ON_NODE, BEFORE, BARE, BARE_AGAIN];

export async function runSteady(
  feeds: readonly Feed[],
  clients: Clients,
  plan: TimedPlan,
  progress: Progress,
): Promise<LoadResult> {
  const work = { ...STEADY, ...plan };
  const contenders = feeds
    .filter(({ name }) => STEADY_NAMES.includes(name))
    .map((feed) => streamContender(feed, clients, work));
  const measured = await runRounds('fanout, steady', contenders, plan.rounds, progress);
  const tables = [streamTable(titleOf('steady', STEADY, plan), measured)];
  return { measured, metrics: [], tables };
}

/** p50 and p99 of the service by rate, on both engines. */
export function latencyMetrics(
  byRate: readonly (readonly [rate: number, measured: Measurements<StreamMeasurement>])[],
): Metric[] {
  return [SUBJECT, ON_NODE].flatMap((name) =>
    byRate.flatMap(([rate, measured]) => {
      const of = (what: string, pick: (one: StreamMeasurement) => number): Metric => {
        const isTarget = rate === STEADY.load.rate && what === 'p99';
        const target = isTarget ? { max: STEADY_P99_MS } : undefined;
        const id = `latency/${rate}/${name}/${what}`;
        return medianMetric(id, 'ms', series(measured, name, pick), target);
      };
      return [of('p50', (one) => one.p50Ms), of('p99', (one) => one.p99Ms)];
    }),
  );
}
