// The slow-clients bench: what slow clients cost the others, and what they cost the service.

import { setTimeout as delay } from 'node:timers/promises';
import { MESSAGE_BYTES } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Bound,
  factorMetric,
  type Metric,
  medianMetric,
  metricTable,
  planOf,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { bytesHeldByKernel } from './harness/socket-queues.js';
import { median } from './harness/stats.js';
import { type Table, whole } from './harness/table.js';
import { closeFeeds, type DroverFeed, droverFeed, type StreamLoad } from './streams/feeds.js';
import { groupOf, measureStreams, type StreamMeasurement } from './streams/measurement.js';
import { Probe } from './streams/probe.js';
import { streamTable } from './streams/stream-table.js';
import { Swarm, type SwarmTally } from './streams/swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
}

const FULL: Plan = { rounds: 5, seconds: 4 };
const SHORT: Plan = { rounds: 2, seconds: 0.8 };

const HEALTHY = 800;
/** Number of clients that never read, and of clients that read 1 KB per second. */
const SLOW_EACH = 100;
const WITH = 'with slow clients';
const WITHOUT = 'without';
const WITHOUT_AGAIN = 'without again';
const LOAD: StreamLoad = { rate: 1_000, messageBytes: MESSAGE_BYTES, form: 'batched' };
/** Load before the healthy clients connect: it fills the kernel's buffers of a client that does not read, and laps it. */
const FLOOD: StreamLoad = { rate: 10_000, messageBytes: 1_000, form: 'batched' };
/** About 12 MB: 4 MB of kernel buffers, the ring, and a margin. */
const FLOOD_LINES = 11_000;
const FLOOD_WITHIN_MS = 20_000;
const PING_EVERY_MS = 100;
/** Small, so that a client is lapped within seconds. The size does not matter otherwise. */
const RING_BYTES = 4 * 1024 * 1024;
const SAMPLE = 40;
const RESUME_MS = 700;
const MEMORY_EVERY_MS = 20;
/** The largest write with its chunk size; the process buffers what the kernel does not take of it. */
const MOST_KEPT = 256 * 1024 + 16;
const MOST_TIMES = 1.2;
const MOST_MEMORY_KB = 80;

interface Measurement extends StreamMeasurement {
  /** Lowest resident memory during the measurement, right after a garbage collection. */
  rss: number;
  slow: SlowClients | undefined;
}

/** What the clients that never read received when they finally read. */
interface SlowClients {
  /** Mean bytes per client in the kernel, on both sides of the connection. */
  kernelHeld: number;
  /** Most bytes beyond that before a gap: what the process had buffered for a client. */
  mostKept: number;
  /** The same on average. */
  meanKept: number;
  /** The most gaps reported to one of them. */
  mostGaps: number;
  /** How many received a gap. */
  withGap: number;
  ended: number;
}

export const slowClients: Bench = {
  name: 'slow-clients',
  about: '1,000 streams of which 100 never read and 100 read 1 KB/s',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step('slow-clients: starting the services');
  const feeds: DroverFeed[] = [];
  const swarm = await Swarm.start(3 * HEALTHY + 2 * SLOW_EACH);
  try {
    for (const name of [WITH, WITHOUT, WITHOUT_AGAIN]) {
      feeds.push(await droverFeed(name, { stream: { ring_bytes: RING_BYTES } }));
    }
    const contenders = feeds.map((feed) => contender(feed, swarm, plan));
    const measured = await runRounds('slow-clients', contenders, plan.rounds, progress);
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [tableOf(measured, plan), metricTable('slow-clients', metrics, NOTES)],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

const NOTES = [
  'p99: publish to receive at the healthy clients, with ÷ without. Noise floor: without ÷ without, two services.',
  'memory-per-blocked: difference of resident memory between the two services ÷ blocked clients, without the kernel’s buffers.',
  'memory-noise: the same difference between the two services without slow clients.',
  'kept-per-blocked: bytes from the process, not the kernel, for a client that finally reads, before its gap, on average;',
  'most-kept: of one client. More than the largest write would be a send to a blocked socket.',
  'gaps-per-blocked: the most losses reported to one; more than one if the kernel took more data in between.',
];

function contender(feed: DroverFeed, swarm: Swarm, plan: Plan): Contender<Measurement> {
  const slow = feed.name === WITH;
  return {
    name: feed.name,
    warmUp: async () => {
      await flood(feed);
      await swarm.open(groupOf(feed), feed.target, HEALTHY);
      await measureStreams(feed, swarm, workOf(0.5), 0.5);
      await swarm.close(groupOf(feed));
    },
    measure: () => measure(feed, swarm, slow, plan),
  };
}

function workOf(seconds: number) {
  return { streams: HEALTHY, load: LOAD, seconds, warmUpSeconds: 0.5, sample: SAMPLE };
}

async function measure(
  feed: DroverFeed,
  swarm: Swarm,
  slow: boolean,
  plan: Plan,
): Promise<Measurement> {
  let never: SwarmTally | undefined;
  if (slow) {
    never = await swarm.open('never', feed.target, SLOW_EACH, 'nothing');
    await swarm.open('trickle', feed.target, SLOW_EACH, 'trickle');
  }
  await flood(feed);
  await swarm.open(groupOf(feed), feed.target, HEALTHY);
  const { meanwhile: rss = Number.NaN, ...healthy } = await measureStreams(
    feed,
    swarm,
    workOf(plan.seconds),
    plan.seconds,
    () => leastRss(feed, plan.seconds),
  );
  if (healthy.closed > 0 || healthy.gaps > 0) {
    throw new Error(
      `${feed.name}: healthy clients had ${healthy.gaps} gaps, ${healthy.closed} ended`,
    );
  }
  await swarm.close(groupOf(feed));
  if (never === undefined) return { ...healthy, rss, slow: undefined };
  const held = bytesHeldByKernel(Number(new URL(feed.server.url).port));
  const resumed = await swarm.resume('never', RESUME_MS);
  await swarm.close('never');
  await swarm.close('trickle');
  return { ...healthy, rss, slow: slowOf(resumed, held) };
}

/** Generates this many lines, however long it takes. */
async function flood(feed: DroverFeed): Promise<void> {
  const { drover, server } = feed;
  const path = '/events?snapshot=0&scope=dispatch';
  const pings = await Probe.open(server.url, path, drover.authorization);
  const position = async () => {
    const next = pings.next(FLOOD_WITHIN_MS);
    await drover.ping();
    return (await next).seq;
  };
  try {
    const end = (await position()) + FLOOD_LINES;
    await feed.start(FLOOD);
    while ((await position()) < end) await delay(PING_EVERY_MS);
    await feed.stop();
  } finally {
    pings.close();
  }
}

/** The memory metric that costs the process nothing to read. */
async function leastRss({ server }: DroverFeed, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  let least = Number.POSITIVE_INFINITY;
  while (performance.now() < end) {
    least = Math.min(least, server.residentBytes());
    await delay(MEMORY_EVERY_MS);
  }
  return least;
}

/** @throws Error if the events were not contiguous up to a declared gap. */
function slowOf(tally: SwarmTally, held: ReadonlyMap<number, number>): SlowClients {
  if (tally.faults.length > 0) throw new Error(`a slow client: ${tally.faults.join('; ')}`);
  const kernel = tally.resumed.map(({ port }) => held.get(port) ?? 0);
  // Without a gap it is unknown what was sent before the client read again; with two, what the kernel took in between.
  const kept = tally.resumed.map(({ gaps, bytesBeforeGap }, n) =>
    gaps === 1 ? Math.max(0, bytesBeforeGap - (kernel[n] ?? 0)) : 0,
  );
  return {
    kernelHeld: mean(kernel),
    mostKept: Math.max(...kept),
    meanKept: mean(kept),
    mostGaps: Math.max(...tally.resumed.map(({ gaps }) => gaps)),
    withGap: tally.resumed.filter(({ gaps }) => gaps > 0).length,
    ended: tally.closed,
  };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length;
}

function metricsOf(measured: Measurements<Measurement>): Metric[] {
  const p99 = (name: string) => series(measured, name, (one) => one.p99Ms);
  const rss = (name: string) => series(measured, name, (one) => one.rss);
  const withSlow = measured.get(WITH) ?? [];
  const first = p99(WITHOUT);
  const without = rss(WITHOUT);
  const perBlocked = (id: string, name: string, target?: Bound) => {
    const each = rss(name).map(
      (bytes, round) => (bytes - (without[round] ?? 0)) / (2 * SLOW_EACH) / 1000,
    );
    return medianMetric(id, 'KB', each, target);
  };
  const most = (pick: (slow: SlowClients) => number) =>
    Math.max(...withSlow.map(({ slow }) => (slow ? pick(slow) : Number.NaN)));
  return [
    factorMetric({
      id: 'p99',
      subject: p99(WITH),
      control: first,
      noise: { first, again: p99(WITHOUT_AGAIN) },
      target: { max: MOST_TIMES },
    }),
    perBlocked('memory-per-blocked', WITH, { max: MOST_MEMORY_KB }),
    perBlocked('memory-noise', WITHOUT_AGAIN),
    {
      id: 'kept-per-blocked',
      value: most((slow) => slow.meanKept) / 1000,
      unit: 'KB',
      target: { max: MOST_MEMORY_KB },
    },
    {
      id: 'most-kept',
      value: most((slow) => slow.mostKept),
      unit: 'B',
      target: { max: MOST_KEPT },
    },
    { id: 'gaps-per-blocked', value: most((slow) => slow.mostGaps), unit: '' },
  ];
}

function tableOf(measured: Measurements<Measurement>, plan: Plan): Table {
  const slow = (measured.get(WITH) ?? []).flatMap((one) => (one.slow ? [one.slow] : []));
  const middle = (pick: (slow: SlowClients) => number) => median(slow.map(pick));
  const mebibytes = (name: string) => whole(median(series(measured, name, (m) => m.rss)) / 2 ** 20);
  return streamTable(
    `slow-clients: ${HEALTHY} healthy streams x ${whole(LOAD.rate)} events/s, ${2 * SLOW_EACH} slow ones (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      `Before each measurement ${whole(FLOOD_LINES)} lines of ${whole(FLOOD.messageBytes)} bytes, which block the slow clients.`,
      `Resident memory: ${mebibytes(WITH)} MiB with slow clients, ${mebibytes(WITHOUT)} MiB without, ${mebibytes(WITHOUT_AGAIN)} MiB without again.`,
      `The kernel held ${whole(middle((one) => one.kernelHeld) / 1000)} KB for each client that never read.`,
      `Read again, ${whole(middle((one) => one.withGap))} of ${SLOW_EACH} received a gap, ${whole(middle((one) => one.ended))} were ended.`,
    ],
  );
}
