// The cluster bench: three services and NATS servers, all on this machine.

import { type Alone, BEFORE, measureAlone, NOW, NOW_AGAIN } from './cluster/alone.js';
import { BenchCluster } from './cluster/cluster.js';
import { ELSEWHERE, HERE, measureCommands } from './cluster/commands.js';
import { type Failover, measureFailover } from './cluster/failover.js';
import {
  aloneMetrics,
  commandMetrics,
  failoverMetrics,
  latencyMetrics,
  listingMetrics,
  outageMetrics,
  throughputMetrics,
  throughputTable,
} from './cluster/figures.js';
import { measureLatency } from './cluster/latency.js';
import { measureListing } from './cluster/listing.js';
import { measureOutage, OUTAGE_RING_BYTES } from './cluster/outage.js';
import { measureThroughput, type ThroughputPlan } from './cluster/throughput.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import type { Table } from './harness/table.js';

interface Plan {
  throughput: ThroughputPlan;
  latencyS: number;
  commands: { rounds: number; seconds: number };
  leaseMs: number;
  outageS: number;
  bots: number;
  listingS: number;
  alone: { rounds: number; seconds: number };
}

const FULL: Plan = {
  throughput: {
    rates: [50_000, 100_000, 150_000, 200_000, 225_000, 250_000],
    tryS: 5,
    sustainS: 60,
  },
  latencyS: 20,
  commands: { rounds: 5, seconds: 3 },
  leaseMs: 12_000,
  outageS: 20,
  bots: 20_000,
  listingS: 10,
  alone: { rounds: 7, seconds: 2 },
};
const SHORT: Plan = {
  throughput: { rates: [50_000, 100_000], tryS: 3, sustainS: 3 },
  latencyS: 4,
  commands: { rounds: 3, seconds: 1 },
  leaseMs: 4000,
  outageS: 10,
  bots: 3000,
  listingS: 3,
  alone: { rounds: 3, seconds: 0.6 },
};

/** What a part adds to the result. */
interface Part {
  metrics: Metric[];
  tables: Table[];
  measurements: unknown;
}

type MeasurePart = (plan: Plan, options: BenchOptions, progress: Progress) => Promise<Part>;

/** By the names of `--part`. */
const PARTS: Record<string, MeasurePart> = {
  events: (plan, _, progress) => events(1, plan, progress),
  'events-3': (plan, _, progress) => events(3, plan, progress),
  latency,
  failover,
  outage,
  bots: listing,
  alone,
};

export const cluster: Bench = {
  name: 'cluster',
  about: 'three nodes on NATS: events a second, latency, commands, a killed node, 20,000 bots',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = options.short ? SHORT : FULL;
  const names = options.part === undefined ? Object.keys(PARTS) : [options.part];
  const parts: Record<string, Part> = {};
  for (const name of names) {
    const measure = PARTS[name];
    if (!measure) {
      throw new Error(`there is no part ${name}; parts are: ${Object.keys(PARTS).join(', ')}`);
    }
    parts[name] = await measure(plan, options, progress);
  }
  const all = Object.values(parts);
  const metrics = all.flatMap((part) => part.metrics);
  return {
    metrics,
    tables: [
      ...all.flatMap((part) => part.tables),
      metricTable('cluster: three nodes and their NATS servers on this machine', metrics),
    ],
    measurements: Object.fromEntries(
      Object.entries(parts).map(([name, { measurements }]) => [name, measurements]),
    ),
  };
}

async function within<T>(
  starting: Promise<BenchCluster>,
  work: (cluster: BenchCluster) => Promise<T>,
): Promise<T> {
  const started = await starting;
  try {
    return await work(started);
  } finally {
    await started.stop();
  }
}

/** One host on each node, without a limit of lines. */
const LOUD = { hosts: { count: 1, bot_lines_per_second: 0 } };

async function events(servers: number, plan: Plan, progress: Progress): Promise<Part> {
  progress.step(`cluster: starting three nodes on ${servers} NATS servers`);
  const tried = await within(BenchCluster.start(servers, LOUD), (started) =>
    measureThroughput(started, plan.throughput, progress),
  );
  return {
    metrics: throughputMetrics(servers, tried),
    tables: [throughputTable(servers, tried)],
    measurements: tried,
  };
}

async function latency(plan: Plan, _: BenchOptions, progress: Progress): Promise<Part> {
  progress.step('cluster: starting three nodes');
  return within(BenchCluster.start(1, LOUD), async (started) => {
    progress.step('cluster: latency');
    const latencies = await measureLatency(started, plan.latencyS);
    const commands = await measureCommands(started, plan.commands, progress);
    return {
      metrics: [...latencyMetrics(latencies), ...commandMetrics(commands, HERE, ELSEWHERE)],
      tables: [],
      measurements: { latencies, commands: Object.fromEntries(commands) },
    };
  });
}

async function failover(
  { leaseMs }: Plan,
  { rounds = 1 }: BenchOptions,
  progress: Progress,
): Promise<Part> {
  const settings = { cluster: { lease_ms: leaseMs } };
  const measured: Failover[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress.step(`cluster: kill -9 of a node, ${round} of ${rounds}`);
    measured.push(
      await within(BenchCluster.start(1, settings), (started) =>
        // In every second round it is the node that leads.
        measureFailover(started, leaseMs, round % 2 === 0),
      ),
    );
  }
  return { metrics: failoverMetrics(measured, leaseMs), tables: [], measurements: measured };
}

async function outage({ outageS }: Plan, _: BenchOptions, progress: Progress): Promise<Part> {
  progress.step('cluster: starting three nodes');
  const settings = { ...LOUD, stream: { ring_bytes: OUTAGE_RING_BYTES } };
  const measured = await within(BenchCluster.start(1, settings), (started) =>
    measureOutage(started, outageS, progress),
  );
  return { metrics: outageMetrics(measured), tables: [], measurements: measured };
}

async function listing(
  { bots, listingS }: Plan,
  _: BenchOptions,
  progress: Progress,
): Promise<Part> {
  progress.step('cluster: starting three nodes');
  const measured = await within(BenchCluster.start(1), (started) =>
    measureListing(started, bots, listingS, progress),
  );
  return { metrics: listingMetrics(measured), tables: [], measurements: measured };
}

async function alone(plan: Plan, { before }: BenchOptions, progress: Progress): Promise<Part> {
  if (!before) return { metrics: [], tables: [], measurements: null };
  const measured = await measureAlone(before, plan.alone, progress);
  const names = { now: NOW, again: NOW_AGAIN, before: BEFORE };
  return {
    metrics: aloneMetrics(measured, names),
    tables: [],
    measurements: Object.fromEntries<readonly Alone[]>(measured),
  };
}
