// The fan-out bench: bytes and latency of 1,000 and 10,000 streams, beside bare loops.

import { runBatched } from './fanout/batched.js';
import { latencyMetrics, runSteady } from './fanout/latency.js';
import { BATCHED, MESSAGE_BYTES, STEADY, UNBATCHED } from './fanout/loads.js';
import { runUnbatched } from './fanout/unbatched.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  metricTable,
  planOf,
  type TimedPlan,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import {
  BARE,
  BARE_AGAIN,
  BEFORE,
  BETTER_SSE,
  closeFeeds,
  controlFeed,
  droverFeed,
  LARGE,
  NODE,
  ON_NODE,
  startFeeds,
} from './streams/feeds.js';
import { runLarge } from './streams/large.js';
import { groupOf } from './streams/measurement.js';
import { MixedSwarm } from './streams/mixed-swarm.js';

const FULL: TimedPlan & { largeSeconds: number } = {
  rounds: 7,
  seconds: 3,
  // Each stream accepts 9 MB at 10,000 events/s: the service then writes its largest pieces (src/front/stream/write-sizes.ts).
  warmUpSeconds: 4,
  largeSeconds: 30,
};
const SHORT: typeof FULL = { rounds: 3, seconds: 0.5, warmUpSeconds: 0.35, largeSeconds: 2 };

export const fanout: Bench = {
  name: 'fanout',
  about: 'bytes per CPU second and latency with 1,000 and 10,000 streams, beside bare loops',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const small = await runSmall(options.before, plan, progress);
  const large = await runLarge(plan.largeSeconds, MESSAGE_BYTES, progress);
  const metrics = [...small.metrics, ...large.metrics];
  const summary = metricTable('fanout: the service beside its controls', metrics, [
    'batched: delivered frames per CPU second of the server, service ÷ control. unbatched: service ÷ control, less is better.',
    'delivered: what the clients had when the measured time ended, of what was due. health-p99: while the events are delivered.',
    'Medians of per-round ratios. Noise floor: the same bare loop ÷ itself, two processes, measured in the same rounds.',
  ]);
  return {
    metrics,
    tables: [...small.tables, large.table, summary],
    measurements: { ...(small.measurements as object), large: large.measurement },
  };
}

/** The loads on 1,000 streams, all on the same servers. */
async function runSmall(
  before: URL | undefined,
  plan: TimedPlan,
  progress: Progress,
): Promise<BenchResult> {
  progress.step('fanout: starting the servers');
  const feeds = await startFeeds([
    () => controlFeed(BARE),
    droverFeed,
    ...(before ? [() => droverFeed(BEFORE, {}, { build: before })] : []),
    () => controlFeed(LARGE),
    () => droverFeed(ON_NODE, { engine: 'node' }),
    () => controlFeed(NODE),
    () => controlFeed(BETTER_SSE),
    () => controlFeed(BARE_AGAIN),
  ]);
  const clients = await MixedSwarm.start(feeds.length);
  try {
    for (const feed of feeds) await clients.open(groupOf(feed), feed.target, BATCHED.streams);
    const batched = await runBatched(feeds, clients, plan, progress);
    const steady = await runSteady(feeds, clients, plan, progress);
    const unbatched = await runUnbatched(feeds, clients, plan, progress);
    const parts = [batched, steady, unbatched];
    const latencies = latencyMetrics([
      [UNBATCHED.load.rate, unbatched.measured],
      [STEADY.load.rate, steady.measured],
      [BATCHED.load.rate, batched.measured],
    ]);
    return {
      metrics: [...parts.flatMap(({ metrics }) => metrics), ...latencies],
      tables: parts.flatMap(({ tables }) => tables),
      measurements: {
        batched: Object.fromEntries(batched.measured),
        steady: Object.fromEntries(steady.measured),
        unbatched: Object.fromEntries(unbatched.measured),
      },
    };
  } finally {
    await clients.stop();
    await closeFeeds(feeds);
  }
}
