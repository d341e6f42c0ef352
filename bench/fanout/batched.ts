// 1,000 streams x 10,000 events/s: delivered bytes per CPU second, and /health meanwhile.

import { type BenchResult, factorMetric, type Metric, ratioMetric } from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import { median, summarize } from '../harness/stats.js';
import { number, type Table } from '../harness/table.js';
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
import { BATCHED } from './loads.js';
import { type Plan, shareMetric, titleOf } from './plan.js';

const HEALTH_P99_MS = 5;

export async function runBatched(
  feeds: readonly Feed[],
  clients: Clients,
  plan: Plan,
  progress: Progress,
): Promise<{ result: BenchResult; measured: Measurements<WithHealth> }> {
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
    const result = {
      metrics: metricsOf(measured),
      tables: [streamTable(titleOf('batched', BATCHED, plan), measured, notes), table(measured)],
      measurements: Object.fromEntries(measured),
    };
    return { result, measured };
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
      ...(min === undefined ? {} : { target: { min } }),
    });
  const idle = (name: string) => healthSeries(measured, name, (health) => health.idle.p99Ms);
  const during = (name: string) => healthSeries(measured, name, (health) => health.during.p99Ms);
  const spread = summarize(during(SUBJECT));
  return [
    ratio(BETTER_SSE, SUBJECT, BETTER_SSE, 60),
    ratio(LARGE, SUBJECT, LARGE, 0.85),
    ratio(BARE, SUBJECT, BARE, 0.8),
    ratio(NODE, SUBJECT, NODE),
    ratio(`${ON_NODE}/${SUBJECT}`, ON_NODE, SUBJECT, 0.8),
    ...(measured.has(BEFORE) ? [ratio(BEFORE, SUBJECT, BEFORE, 2)] : []),
    shareMetric('batched/delivered', measured, SUBJECT),
    shareMetric(`batched/${ON_NODE}/delivered`, measured, ON_NODE),
    {
      id: 'batched/health-p99',
      value: spread.median,
      unit: 'ms',
      spread,
      target: { max: HEALTH_P99_MS },
    },
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
  const asked = [...measured.keys()].filter((name) => name !== BETTER_SSE);
  return {
    title: 'fanout, batched: GET /health, 200 requests/s',
    header: ['medians', 'idle p50 ms', 'p99', 'max', 'with events p50 ms', 'p99', 'max', 'late'],
    rows: asked.map((name) => {
      const middle = (pick: (one: Health) => number) =>
        number(median(healthSeries(measured, name, pick)));
      return [
        name,
        middle(({ idle }) => idle.p50Ms),
        middle(({ idle }) => idle.p99Ms),
        middle(({ idle }) => idle.maxMs),
        middle(({ during }) => during.p50Ms),
        middle(({ during }) => during.p99Ms),
        middle(({ during }) => during.maxMs),
        middle(({ during }) => during.late),
      ];
    }),
    notes: [
      'Each server is asked just before its events, and during them. late: no connection was free in time.',
      'better-sse is not asked: at its best load some requests get no response within 10 s.',
    ],
  };
}
