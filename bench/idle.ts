// The idle bench: CPU and wake-ups of a service that has nothing, or little, to do.

import { setTimeout as delay } from 'node:timers/promises';
import { type BotsHost, createBots, ServiceHost, startBare } from './bots/hosts.js';
import { BOTS } from './bots/part.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Bound,
  contenderTable,
  type Metric,
  medianMetric,
  medianOf,
  metricTable,
  planOf,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import type { Server } from './harness/server.js';
import { type Table, whole } from './harness/table.js';
import {
  BARE,
  closeFeeds,
  controlFeed,
  droverFeed,
  type Feed,
  type StreamLoad,
  SUBJECT,
  startFeeds,
} from './streams/feeds.js';
import { groupOf } from './streams/measurement.js';
import { Swarm } from './streams/swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
  /** After the bots have started, so that garbage is collected and compiled code in use. */
  settleSeconds: number;
}
const FULL: Plan = { rounds: 5, seconds: 10, settleSeconds: 3 };
const SHORT: Plan = { rounds: 2, seconds: 2, settleSeconds: 1 };

const IDLE_BARE = 'bots-bare';
/** 50 bots with 10 lines a second each. */
const LINES: StreamLoad = { rate: 500, messageBytes: 52, form: 'unbatched', bots: 50 };
const STREAMS = 10;
/** Fewest bytes of a frame, to check that streams received their lines. */
const FRAME_BYTES = 150;

interface Measurement {
  /** CPU time of all threads, in percent of one core. */
  cpu: number;
  /** Of all threads, per second. */
  wakeUps: number;
}

export const idle: Bench = {
  name: 'idle',
  about: 'CPU and wake-ups without work, with 10,000 idle bots, and with few lines',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const silent = await runSilent(plan, progress);
  const lines = await runLines(plan, progress);
  const metrics = [
    ...metricsOf(silent, 'no-bots', `${SUBJECT}, no bots`, 0.5, { max: 10 }),
    ...metricsOf(silent, `${BOTS}-bots`, `${SUBJECT}, ${whole(BOTS)} bots`, 1, { max: 10 }),
    ...metricsOf(lines, 'lines/no-stream', nameOf(SUBJECT, 0), 5),
    ...metricsOf(lines, `lines/${STREAMS}-streams`, nameOf(SUBJECT, STREAMS), 8),
  ];
  return {
    metrics,
    tables: [
      tableOf('idle: nothing happens', silent, plan),
      tableOf('idle: 50 bots with 10 lines/s each', lines, plan),
      metricTable('idle: share of a core, wake-ups per second', metrics, [
        'A wake-up: a thread had given up its core to wait for something.',
      ]),
    ],
    measurements: { silent: Object.fromEntries(silent), lines: Object.fromEntries(lines) },
  };
}

/** No bots, and 10,000 idle ones, beside objects in a worker thread that stand for them. */
async function runSilent(plan: Plan, progress: Progress): Promise<Measurements<Measurement>> {
  progress.step(`idle: ${whole(BOTS)} bots starting`);
  const hosts: BotsHost[] = [];
  const start = async (host: BotsHost, bots: number): Promise<Server> => {
    hosts.push(host);
    await createBots(host, 0, bots);
    await host.untilReady(bots);
    return host.server;
  };
  try {
    const contenders = [
      contender(`${SUBJECT}, no bots`, await start(await ServiceHost.start(), 0), plan),
      contender(
        `${SUBJECT}, ${whole(BOTS)} bots`,
        await start(await ServiceHost.start(), BOTS),
        plan,
      ),
      contender(
        `${IDLE_BARE}, ${whole(BOTS)} bots`,
        await start(await startBare(IDLE_BARE), BOTS),
        plan,
      ),
    ];
    return await runRounds('idle', contenders, plan.rounds, progress);
  } finally {
    for (const host of hosts) await host.stop();
  }
}

/** Few lines, without streams and with some. */
async function runLines(plan: Plan, progress: Progress): Promise<Measurements<Measurement>> {
  progress.step('idle: starting the servers');
  const named = [SUBJECT, BARE].flatMap((name) =>
    [0, STREAMS].map((streams) => ({ name, streams })),
  );
  const feeds = await startFeeds(
    named.map(
      ({ name }) =>
        () =>
          name === SUBJECT ? droverFeed() : controlFeed(name),
    ),
  );
  const swarm = await Swarm.start(feeds.length * STREAMS);
  try {
    const contenders: Contender<Measurement>[] = [];
    for (const [at, feed] of feeds.entries()) {
      const { name, streams } = named[at] as { name: string; streams: number };
      contenders.push(await linesContender(nameOf(name, streams), feed, streams, swarm, plan));
    }
    return await runRounds('idle, lines', contenders, plan.rounds, progress);
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

function nameOf(name: string, streams: number): string {
  return `${name}, ${streams === 0 ? 'no' : streams} streams`;
}

async function linesContender(
  name: string,
  feed: Feed,
  streams: number,
  swarm: Swarm,
  plan: Plan,
): Promise<Contender<Measurement>> {
  const group = `${groupOf(feed)} ${streams}`;
  if (streams > 0) await swarm.open(group, feed.target, streams);
  const { measure } = contender(name, feed.server, plan);
  const received = async () => (streams > 0 ? (await swarm.end(group)).bytes : 0);
  return {
    name,
    warmUp: async () => {},
    measure: async () => {
      await feed.start(LINES);
      await delay(plan.settleSeconds * 1000);
      const before = await received();
      const measured = await measure();
      const bytes = (await received()) - before;
      await feed.stop();
      const least = streams * LINES.rate * plan.seconds * FRAME_BYTES;
      if (bytes < least) throw new Error(`${name}: the streams received ${bytes} bytes`);
      return measured;
    },
  };
}

function contender(name: string, server: Server, plan: Plan): Contender<Measurement> {
  return {
    name,
    warmUp: () => delay(plan.settleSeconds * 1000),
    measure: async () => {
      const before = server.waits();
      const { use } = await server.cpuDuring(() => delay(plan.seconds * 1000));
      const waits = server.waits() - before;
      return { cpu: (use.cpuNs / use.wallNs) * 100, wakeUps: waits / (use.wallNs / 1e9) };
    },
  };
}

function metricsOf(
  measured: Measurements<Measurement>,
  id: string,
  name: string,
  mostCpu: number,
  wakeUps?: Bound,
): Metric[] {
  const of = (pick: (one: Measurement) => number) => series(measured, name, pick);
  return [
    medianMetric(
      `${id}/cpu`,
      '%',
      of(({ cpu }) => cpu),
      { max: mostCpu },
    ),
    medianMetric(
      `${id}/wake-ups`,
      '/s',
      of((one) => one.wakeUps),
      wakeUps,
    ),
  ];
}

function tableOf(title: string, measured: Measurements<Measurement>, plan: Plan): Table {
  return contenderTable(`${title} (${plan.rounds} rounds of ${plan.seconds} s)`, measured, [
    ['% of a core', medianOf(({ cpu }) => cpu)],
    ['wake-ups/s', medianOf((one) => one.wakeUps)],
  ]);
}
