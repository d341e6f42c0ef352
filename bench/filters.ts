// The filters bench: 1,000 streams that each follow one of 1,000 bots, beside streams without a filter that receive as many
// frames.

import { setTimeout as delay } from 'node:timers/promises';
import { MESSAGE_BYTES } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { median, ratioSummary, summarize } from './harness/stats.js';
import { number, percent, type Table, whole } from './harness/table.js';
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
  delivered: number;
  p99Ms: number;
}

export const filters: Bench = {
  name: 'filters',
  about: '1,000 streams with 1,000 different filters, beside unfiltered ones',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const form = options.short ? SHORT : FULL;
  const plan = { ...form, rounds: options.rounds ?? form.rounds };
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
      return { cores, delivered: Number.NaN, p99Ms: Number.NaN };
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
  return {
    name,
    warmUp: async () => {
      await measure(plan.settleSeconds);
    },
    measure: () => measure(plan.seconds),
  };
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
  const delivered = summarize(series(measured, FILTERED, (one) => one.delivered * 100));
  const p99 = summarize(series(measured, FILTERED, (one) => one.p99Ms));
  return [
    {
      id: 'cpu',
      value: times.median,
      unit: 'x',
      spread: times,
      noise: ratioSummary(unfiltered, cores(UNFILTERED_AGAIN)),
      target: { max: MOST_TIMES },
    },
    {
      id: 'delivered',
      value: delivered.median,
      unit: '%',
      spread: delivered,
      target: { min: 99 },
    },
    { id: 'p99', value: p99.median, unit: 'ms', spread: p99 },
  ];
}

function tableOf(measured: Measurements<Measurement>, plan: Plan): Table {
  return {
    title: `filters: ${whole(STREAMS)} streams of ${EACH_RATE} frames/s each (${plan.rounds} rounds of ${plan.seconds} s)`,
    header: ['medians', 'events/s', 'server CPU', 'of what is due', 'p99 ms'],
    rows: [...measured.keys()].map((name) => {
      const middle = (pick: (one: Measurement) => number) => median(series(measured, name, pick));
      const load = name === FILTERED || name === NO_STREAMS ? MANY_BOTS : ONE_BOT;
      const has = name !== NO_STREAMS;
      return [
        name,
        whole(load.rate),
        percent(middle((one) => one.cores)),
        has ? percent(middle((one) => one.delivered)) : '',
        has ? number(middle((one) => one.p99Ms)) : '',
      ];
    }),
    notes: [],
  };
}
