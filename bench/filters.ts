// The filters bench: 1,000 streams that each follow one of 1,000 bots, beside streams without a filter that receive as many
// frames.

import { setTimeout as delay } from 'node:timers/promises';
import { MESSAGE_BYTES } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  contenderTable,
  type Metric,
  medianMetric,
  medianOf,
  metricTable,
  planOf,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import {
  type Contender,
  type Measurements,
  runRounds,
  series,
  timedContender,
} from './harness/rounds.js';
import { ratioSummary, summarize } from './harness/stats.js';
import { percent, type Table, whole } from './harness/table.js';
import { NUMBER_IN_PATH } from './load/swarm-jobs.js';
import {
  closeFeeds,
  type DroverFeed,
  droverFeed,
  type StreamLoad,
  startFeeds,
} from './streams/feeds.js';
import { groupOf } from './streams/measurement.js';
import { Swarm } from './streams/swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
  settleSeconds: number;
}
const FULL: Plan = { rounds: 5, seconds: 5, settleSeconds: 1 };
const SHORT: Plan = { rounds: 2, seconds: 1, settleSeconds: 0.5 };

const STREAMS = 1_000;
const FILTERED = 'filtered';
const NO_STREAMS = 'no streams';
const UNFILTERED = 'unfiltered';
const UNFILTERED_AGAIN = 'unfiltered again';
/** Ten lines per second of each bot. */
const MANY_BOTS: StreamLoad = {
  rate: 10_000,
  messageBytes: MESSAGE_BYTES,
  form: 'batched',
  bots: STREAMS,
};
const ONE_BOT: StreamLoad = { ...MANY_BOTS, rate: 10, bots: 1 };
/** Frames that each stream is due, per second. */
const EACH_RATE = 10;
/** Streams that are parsed. */
const SAMPLE = 20;
const MOST_TIMES = 2;

interface Measurement {
  cores: number;
  /** Frames that arrived, of those that were due. */
  delivered: number | undefined;
  p99Ms: number | undefined;
}

export const filters: Bench = {
  name: 'filters',
  about: '1,000 streams with 1,000 different filters, beside unfiltered ones',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step('filters: starting the services');
  const names = [FILTERED, UNFILTERED, NO_STREAMS, UNFILTERED_AGAIN];
  const settings = { hosts: { count: 1 } };
  const feeds = (await startFeeds(
    names.map((name) => () => droverFeed(name, settings)),
  )) as DroverFeed[];
  const swarm = await Swarm.start(feeds.length * STREAMS);
  try {
    const contenders: Contender<Measurement>[] = [];
    for (const feed of feeds) contenders.push(await contenderOf(feed, swarm, plan));
    const measured = await runRounds('filters', contenders, plan.rounds, progress);
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('filters', metrics, [
          `cpu: (${FILTERED} − ${NO_STREAMS}) ÷ ${UNFILTERED}: the same bots without streams are not part of the streams' cost.`,
          'Noise floor: the service with unfiltered streams ÷ another one.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

async function contenderOf(
  feed: DroverFeed,
  swarm: Swarm,
  plan: Plan,
): Promise<Contender<Measurement>> {
  const { name, target } = feed;
  const filter = name === FILTERED ? `&session=load-${NUMBER_IN_PATH}` : '';
  const streams = name === NO_STREAMS ? 0 : STREAMS;
  const load = filter !== '' || streams === 0 ? MANY_BOTS : ONE_BOT;
  if (streams > 0) {
    await swarm.open(groupOf(feed), { ...target, path: target.path + filter }, streams);
  }
  const measure = async (seconds: number): Promise<Measurement> => {
    const group = groupOf(feed);
    if (streams > 0) await swarm.mark(group, SAMPLE, filter !== '');
    await feed.start(load);
    await delay(plan.settleSeconds * 1000);
    const before = streams > 0 ? await swarm.begin(group) : undefined;
    const { result: after, use } = await feed.server.cpuDuring(async () => {
      await delay(seconds * 1000);
      return streams > 0 ? await swarm.end(group) : undefined;
    });
    await feed.stop();
    const cores = use.cpuNs / use.wallNs;
    if (before === undefined || after === undefined) {
      return { cores, delivered: undefined, p99Ms: undefined };
    }
    const { faults, gaps, closed } = after;
    if (faults.length > 0 || gaps > 0 || closed > 0) {
      throw new Error(`${name}: ${gaps} gaps, ${closed} streams ended; ${faults.join('; ')}`);
    }
    const frames = (after.bytes - before.bytes) / (after.sampleBytes / after.sampleFrames);
    return {
      cores,
      delivered: frames / (use.wallNs / 1e9) / (EACH_RATE * streams),
      p99Ms: after.latencies.percentileMs(99),
    };
  };
  const { seconds, settleSeconds } = plan;
  return timedContender(name, { seconds, warmUpSeconds: settleSeconds }, measure);
}

function metricsOf(measured: Measurements<Measurement>): Metric[] {
  const cores = (name: string) => series(measured, name, (one) => one.cores);
  const without = cores(NO_STREAMS);
  const unfiltered = cores(UNFILTERED);
  const times = summarize(
    cores(FILTERED).map(
      (own, round) => (own - (without[round] ?? 0)) / (unfiltered[round] ?? Number.NaN),
    ),
  );
  const of = (pick: (one: Measurement) => number | undefined) =>
    series(measured, FILTERED, (one) => pick(one) ?? Number.NaN);
  return [
    {
      id: 'cpu',
      value: times.median,
      unit: 'x',
      spread: times,
      noise: ratioSummary(unfiltered, cores(UNFILTERED_AGAIN)),
      target: { max: MOST_TIMES },
    },
    medianMetric(
      'delivered',
      '%',
      of(({ delivered = Number.NaN }) => delivered * 100),
      { min: 99 },
    ),
    medianMetric(
      'p99',
      'ms',
      of((one) => one.p99Ms),
    ),
  ];
}

function tableOf(measured: Measurements<Measurement>, plan: Plan): Table {
  return contenderTable(
    `filters: ${whole(STREAMS)} streams of ${EACH_RATE} frames/s each (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      ['server CPU', medianOf((one) => one.cores, percent)],
      ['of what is due', medianOf((one) => one.delivered, percent)],
      ['p99 ms', medianOf((one) => one.p99Ms)],
    ],
  );
}
