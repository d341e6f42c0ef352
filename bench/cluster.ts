// The cluster bench: three services and a NATS server, all on this machine.

import { BenchCluster } from './cluster/cluster.js';
import { ELSEWHERE, HERE, measureCommands } from './cluster/commands.js';
import { type Failover, measureFailover } from './cluster/failover.js';
import {
  commandMetrics,
  failoverMetrics,
  latencyMetrics,
  listingMetrics,
  throughputMetrics,
  throughputTable,
} from './cluster/figures.js';
import { measureLatency } from './cluster/latency.js';
import { measureListing } from './cluster/listing.js';
import { measureThroughput, type ThroughputPlan } from './cluster/throughput.js';
import { type Bench, type BenchOptions, type BenchResult, metricTable } from './harness/bench.js';
import type { Progress } from './harness/progress.js';

interface Plan {
  throughput: ThroughputPlan;
  latencyS: number;
  commands: { rounds: number; seconds: number };
  leaseMs: number;
  bots: number;
  listingS: number;
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
  bots: 20_000,
  listingS: 10,
};
const SHORT: Plan = {
  throughput: { rates: [50_000, 100_000], tryS: 3, sustainS: 3 },
  latencyS: 4,
  commands: { rounds: 3, seconds: 1 },
  leaseMs: 4000,
  bots: 3000,
  listingS: 3,
};

type MeasurePart = (plan: Plan, options: BenchOptions, progress: Progress) => Promise<BenchResult>;

/** By the names of `--part`. */
const PARTS: Record<string, MeasurePart> = {
  events,
  latency,
  failover,
  bots: listing,
};

export const cluster: Bench = {
  name: 'cluster',
  about: 'three nodes on NATS: events a second, latency, commands, a killed node, 20,000 bots',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = options.short ? SHORT : FULL;
  const names = options.part === undefined ? Object.keys(PARTS) : [options.part];
  const parts: Record<string, BenchResult> = {};
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
      metricTable('cluster: three nodes and a NATS server on this machine', metrics),
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

async function events(plan: Plan, _: BenchOptions, progress: Progress): Promise<BenchResult> {
  progress.step('cluster: starting three nodes');
  const tried = await within(BenchCluster.start(LOUD), (started) =>
    measureThroughput(started, plan.throughput, progress),
  );
  return {
    metrics: throughputMetrics(tried),
    tables: [throughputTable(tried)],
    measurements: tried,
  };
}

async function latency(plan: Plan, _: BenchOptions, progress: Progress): Promise<BenchResult> {
  progress.step('cluster: starting three nodes');
  return within(BenchCluster.start(LOUD), async (started) => {
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
): Promise<BenchResult> {
  const settings = { cluster: { lease_ms: leaseMs } };
  const measured: Failover[] = [];
  for (let round = 1; round <= rounds; round++) {
    progress.step(`cluster: kill -9 of a node, ${round} of ${rounds}`);
    measured.push(
      await within(BenchCluster.start(settings), (started) =>
        // In every second round it is the node that leads.
        measureFailover(started, leaseMs, round % 2 === 0),
      ),
    );
  }
  return { metrics: failoverMetrics(measured, leaseMs), tables: [], measurements: measured };
}

async function listing(
  { bots, listingS }: Plan,
  _: BenchOptions,
  progress: Progress,
): Promise<BenchResult> {
  progress.step('cluster: starting three nodes');
  const measured = await within(BenchCluster.start(), (started) =>
    measureListing(started, bots, listingS, progress),
  );
  return { metrics: listingMetrics(measured), tables: [], measurements: measured };
}
