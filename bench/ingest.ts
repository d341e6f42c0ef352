// The ingest bench: events per second from one bot host into the ring.

import { setTimeout as delay } from 'node:timers/promises';
import type { IngestJob, IngestResult } from './controls/ingest-bare.js';
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
  ratioMetric,
  type TimedPlan,
} from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import {
  type Contender,
  type Measurements,
  runRounds,
  series,
  timedContender,
} from './harness/rounds.js';
import { percent, type Table, whole } from './harness/table.js';
import { type DroverFeed, droverFeed } from './streams/feeds.js';
import { ringRate } from './streams/ring-rate.js';
import { Swarm } from './streams/swarm.js';

const FULL: TimedPlan = { rounds: 7, seconds: 3, warmUpSeconds: 0.5 };
const SHORT: TimedPlan = { ...FULL, rounds: 3, seconds: 0.6 };

const ALONE = 'drover, no subscriber';
const WATCHED = 'drover, 1 subscriber';
const BARE = 'two bare threads';
const BARE_AGAIN = 'two bare threads again';
/** More than a bot can send: it sends as much as it can. */
const FLAT_OUT = 10_000_000;
const LEAST_PER_S = 500_000;
const ANSWER_WITHIN_MS = 10_000;

export interface Measurement {
  eventsPerS: number;
  /** Lines skipped because too many bytes were in flight. */
  skippedPerS: number;
  cpuUsPerEvent: number;
  serverCores: number;
  serverWait: number;
  /** Bytes per second received by the subscriber. */
  deliveredPerS: number;
}

export const ingest: Bench = {
  name: 'ingest',
  about: 'one bot at full speed: events a second into the ring, without and with a subscriber',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step('ingest: starting the service');
  const settings = { hosts: { count: 1, bot_lines_per_second: 0 } };
  const feed = await droverFeed('drover', settings);
  const bare: LoadProcess<IngestJob, IngestResult>[] = [];
  const swarm = await Swarm.start(1);
  try {
    for (const name of [BARE, BARE_AGAIN]) {
      bare.push(await LoadProcess.start(name, benchScript('controls/ingest-bare.js')));
    }
    const measured = await runRounds(
      'ingest',
      [
        bareContender(BARE, bare[0], plan),
        serviceContender(ALONE, feed, swarm, 0, plan),
        serviceContender(WATCHED, feed, swarm, 1, plan),
        bareContender(BARE_AGAIN, bare[1], plan),
      ],
      plan.rounds,
      progress,
    );
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('ingest: one bot host into the ring', metrics, [
          'bare/…: events a second, service ÷ two bare threads that pack, unpack and write the same events. cpu/…: CPU per event, the other way round.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await swarm.stop();
    await Promise.all(bare.map((one) => one.stop()));
    await feed.close();
  }
}

function bareContender(
  name: string,
  load: LoadProcess<IngestJob, IngestResult> | undefined,
  plan: TimedPlan,
): Contender<Measurement> {
  return timedContender(name, plan, async (seconds) => {
    if (load === undefined) throw new Error(`${name} was not started`);
    const job: IngestJob = { seconds, messageBytes: MESSAGE_BYTES };
    const { eventsPerS, cpuUsPerEvent } = await load.run(job, seconds * 1000 + ANSWER_WITHIN_MS);
    const serverCores = (eventsPerS * cpuUsPerEvent) / 1e6;
    return {
      eventsPerS,
      cpuUsPerEvent,
      serverCores,
      skippedPerS: 0,
      serverWait: 0,
      deliveredPerS: 0,
    };
  });
}

export function serviceContender(
  name: string,
  feed: DroverFeed,
  swarm: Swarm,
  subscribers: number,
  plan: TimedPlan,
): Contender<Measurement> {
  return timedContender(name, plan, (seconds) =>
    measureService(name, feed, swarm, subscribers, seconds),
  );
}

async function measureService(
  name: string,
  feed: DroverFeed,
  swarm: Swarm,
  subscribers: number,
  seconds: number,
): Promise<Measurement> {
  try {
    await swarm.open(name, feed.target, subscribers);
    let bytes = 0;
    const bot = {
      start: () => feed.start({ rate: FLAT_OUT, messageBytes: MESSAGE_BYTES, form: 'batched' }),
      stop: () => feed.stop(),
    };
    const { perS, skippedPerS, use, cpuUsPerEvent } = await ringRate(feed.drover, bot, async () => {
      const before = await swarm.begin(name);
      await delay(seconds * 1000);
      bytes = (await swarm.end(name)).bytes - before.bytes;
    });
    return {
      eventsPerS: perS,
      skippedPerS,
      cpuUsPerEvent,
      serverCores: use.cpuNs / use.wallNs,
      serverWait: use.waitedNs / use.wallNs,
      deliveredPerS: bytes / (use.wallNs / 1e9),
    };
  } finally {
    await swarm.close(name);
  }
}

function metricsOf(measured: Measurements<Measurement>): Metric[] {
  const rates = (name: string) => series(measured, name, (one) => one.eventsPerS);
  const bare = rates(BARE);
  const noise = { first: bare, again: rates(BARE_AGAIN) };
  const absolute = (id: string, name: string): Metric =>
    medianMetric(id, '/s', rates(name), { min: LEAST_PER_S });
  const ratio = (id: string, name: string): Metric =>
    ratioMetric({ id, subject: rates(name), control: bare, noise, better: 'more' });
  const cpu = (name: string) => series(measured, name, (one) => one.cpuUsPerEvent);
  const bareCpu = cpu(BARE);
  const cost = (id: string, name: string): Metric =>
    ratioMetric({
      id,
      subject: cpu(name),
      control: bareCpu,
      noise: { first: bareCpu, again: cpu(BARE_AGAIN) },
      better: 'less',
    });
  return [
    absolute('no-subscriber', ALONE),
    absolute('one-subscriber', WATCHED),
    ratio('bare/no-subscriber', ALONE),
    ratio('bare/one-subscriber', WATCHED),
    cost('cpu/no-subscriber', ALONE),
    cost('cpu/one-subscriber', WATCHED),
  ];
}

function tableOf(measured: Measurements<Measurement>, plan: TimedPlan): Table {
  return contenderTable(
    `ingest: one bot flat out, messages of ${MESSAGE_BYTES} bytes (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      ['events/s', medianOf((one) => one.eventsPerS, whole)],
      ['skipped/s', medianOf((one) => one.skippedPerS, whole)],
      ['CPU µs/event', medianOf((one) => one.cpuUsPerEvent)],
      ['server CPU', medianOf((one) => one.serverCores, percent)],
      ['server waits', medianOf((one) => one.serverWait, percent)],
      ['delivered MB/s', medianOf((one) => one.deliveredPerS / 1e6, whole)],
    ],
    [
      'Events in the ring are counted by their ids, seen on a stream whose filter passes only two of them.',
      'The line limit per bot is off; skipped lines exceed the bound of bytes in flight.',
    ],
  );
}
