// 1,000 streams x 100 events/s: what a delivery costs that cannot share a write with others.

import { factorMetric, type Metric, type TimedPlan } from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import { BARE, BARE_AGAIN, BETTER_SSE, type Feed, LARGE, NODE, SUBJECT } from '../streams/feeds.js';
import { type Clients, type StreamMeasurement, streamContender } from '../streams/measurement.js';
import { streamTable } from '../streams/stream-table.js';
import { type LoadResult, titleOf, UNBATCHED } from './loads.js';

const MOST_CPU = 1.1;
const MOST_P99 = 2;

export async function runUnbatched(
  feeds: readonly Feed[],
  clients: Clients,
  plan: TimedPlan,
  progress: Progress,
): Promise<LoadResult> {
  const work = { ...UNBATCHED, ...plan };
  const contenders = feeds
    .filter(({ name }) => name !== LARGE)
    .map((feed) => streamContender(feed, clients, work));
  const measured = await runRounds('fanout, unbatched', contenders, plan.rounds, progress);
  const notes = [
    'The controls write each frame by itself. Latencies are from timestamp_ms, which is cut to whole milliseconds, so that all',
    `of them are up to 1 ms too long; ${UNBATCHED.sample} streams are parsed for them.`,
  ];
  return {
    measured,
    metrics: [
      ...metricsOf('cpu', measured, (one) => one.cpuUsPerFrame, MOST_CPU),
      ...metricsOf('p99', measured, (one) => one.p99Ms, MOST_P99),
    ],
    tables: [streamTable(titleOf('unbatched', UNBATCHED, plan), measured, notes)],
  };
}

function metricsOf(
  what: string,
  measured: Measurements<StreamMeasurement>,
  pick: (one: StreamMeasurement) => number,
  max: number,
): Metric[] {
  const of = (name: string) => series(measured, name, pick);
  const bare = of(BARE);
  const noise = { first: bare, again: of(BARE_AGAIN) };
  const subject = of(SUBJECT);
  const id = `unbatched/${what}`;
  return [
    factorMetric({ id: `${id}/${BARE}`, subject, control: bare, noise, target: { max } }),
    ...[NODE, BETTER_SSE].map((name) =>
      factorMetric({ id: `${id}/${name}`, subject, control: of(name), noise }),
    ),
  ];
}
