// 1,000 streams x 10,000 events/s: delivered bytes per CPU second, and /health meanwhile.

import {
  contenderTable,
  factorMetric,
  type Metric,
  medianMetric,
  medianOf,
  ratioMetric,
  type TimedPlan,
} from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import type { Table } from '../harness/table.js';
import { bestLoad } from '../streams/best-load.js';
import {
  BARE,
  BARE_AGAIN,
  BEFORE,
  BETTER_SSE,
  type Feed,
  LARGE,
  NODE,
  ON_NODE,
  SUBJECT,
} from '../streams/feeds.js';
import { type Clients, type StreamWork, streamContender } from '../streams/measurement.js';
import { streamTable } from '../streams/stream-table.js';
import { type Health, HealthLoad, type WithHealth } from './health.js';
import { BATCHED, type LoadResult, shareMetric, titleOf } from './loads.js';

const HEALTH_P99_MS = 5;

export async function runBatched(
  feeds: readonly Feed[],
  clients: Clients,
  plan: TimedPlan,
  progress: Progress,
): Promise<LoadResult<WithHealth>> {
  const work: StreamWork = { ...BATCHED, ...plan };
  const better = feeds.find(({ name }) => name === BETTER_SSE);
  if (better === undefined) throw new Error('no better-sse');
  progress.step('fanout, batched: finding the best load for better-sse');
  const best = await bestLoad(better, clients, work, plan.warmUpSeconds);
  const health = await HealthLoad.start();
  try {
    const contenders = feeds.map((feed) =>
      feed === better
        ? streamContender<Health | undefined>(feed, clients, { ...work, load: best.load })
        : health.contender(feed, clients, work),
    );
    const measured = await runRounds('fanout, batched', contenders, plan.rounds, progress);
    const notes = [
      `${BARE} and ${NODE} write the frames of a tick of 10 ms at once, ${LARGE} collects 256 KiB and writes without a cork.`,
      `better-sse gets a lower rate: ${best.note}.`,
    ];
    return {
      measured,
      metrics: metricsOf(measured),
      tables: [streamTable(titleOf('batched', BATCHED, plan), measured, notes), table(measured)],
    };
  } finally {
    await health.stop();
  }
}

function metricsOf(measured: Measurements<WithHealth>): Metric[] {
  const of = (name: string) => series(measured, name, (one) => one.framesPerCpuS);
  const bare = of(BARE);
  const noise = { first: bare, again: of(BARE_AGAIN) };
  const ratio = (id: string, subject: string, control: string, min?: number): Metric =>
    ratioMetric({
      id: `batched/${id}`,
      subject: of(subject),
      control: control === BARE ? bare : of(control),
      noise,
      better: 'more',
      target: min === undefined ? undefined : { min },
    });
  const idle = (name: string) => healthSeries(measured, name, (health) => health.idle.p99Ms);
  const during = (name: string) => healthSeries(measured, name, (health) => health.during.p99Ms);
  return [
    ratio(BETTER_SSE, SUBJECT, BETTER_SSE, 60),
    ratio(LARGE, SUBJECT, LARGE, 0.85),
    ratio(BARE, SUBJECT, BARE, 0.8),
    ratio(NODE, SUBJECT, NODE),
    ratio(`${ON_NODE}/${SUBJECT}`, ON_NODE, SUBJECT, 0.8),
    ...(measured.has(BEFORE) ? [ratio(BEFORE, SUBJECT, BEFORE, 2)] : []),
    shareMetric('batched/delivered', measured, SUBJECT),
    shareMetric(`batched/${ON_NODE}/delivered`, measured, ON_NODE),
    medianMetric('batched/health-p99', 'ms', during(SUBJECT), { max: HEALTH_P99_MS }),
    factorMetric({
      id: 'batched/health-p99/idle',
      subject: during(SUBJECT),
      control: idle(SUBJECT),
      noise: { first: idle(BARE), again: idle(BARE_AGAIN) },
      target: { max: 2 },
    }),
  ];
}

/** One number for each round. */
function healthSeries(
  measured: Measurements<WithHealth>,
  name: string,
  pick: (health: Health) => number,
): number[] {
  return series(measured, name, ({ meanwhile }) => (meanwhile ? pick(meanwhile) : Number.NaN));
}

function table(measured: Measurements<WithHealth>): Table {
  return contenderTable<WithHealth>(
    'fanout, batched: GET /health, 200 requests/s',
    new Map([...measured].filter(([name]) => name !== BETTER_SSE)),
    [
      ['idle p50 ms', medianOf(({ meanwhile }) => meanwhile?.idle.p50Ms)],
      ['p99', medianOf(({ meanwhile }) => meanwhile?.idle.p99Ms)],
      ['max', medianOf(({ meanwhile }) => meanwhile?.idle.maxMs)],
      ['with events p50 ms', medianOf(({ meanwhile }) => meanwhile?.during.p50Ms)],
      ['p99', medianOf(({ meanwhile }) => meanwhile?.during.p99Ms)],
      ['max', medianOf(({ meanwhile }) => meanwhile?.during.maxMs)],
      ['late', medianOf(({ meanwhile }) => meanwhile?.during.late)],
    ],
    [
      'Each server is asked just before its events, and during them. late: no connection was free in time.',
      'better-sse is not asked: at its best load some requests get no response within 10 s.',
    ],
  );
}
