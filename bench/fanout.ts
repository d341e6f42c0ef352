// The fan-out bench: CPU per delivered frame, beside bare loops.

import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  factorMetric,
  type Metric,
  metricTable,
  ratioMetric,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { whole } from './harness/table.js';
import { bestLoad } from './streams/best-load.js';
import {
  BARE,
  BARE_AGAIN,
  BETTER_SSE,
  closeFeeds,
  controlFeed,
  droverFeed,
  type Feed,
  NODE,
  SUBJECT,
  startFeeds,
} from './streams/feeds.js';
import { runLarge } from './streams/large.js';
import {
  groupOf,
  type StreamMeasurement,
  type StreamWork,
  streamContender,
} from './streams/measurement.js';
import { streamTable } from './streams/stream-table.js';
import { Swarm } from './streams/swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  largeSeconds: number;
}

const FULL: Plan = { rounds: 7, seconds: 3, warmUpSeconds: 1.5, largeSeconds: 30 };
const SHORT: Plan = { rounds: 3, seconds: 0.5, warmUpSeconds: 0.35, largeSeconds: 2 };

const STREAMS = 1_000;
/** Gives a frame of about 220 bytes. */
export const MESSAGE_BYTES = 52;

export const BATCHED: Pick<StreamWork, 'streams' | 'load' | 'sample'> = {
  streams: STREAMS,
  load: { rate: 10_000, messageBytes: MESSAGE_BYTES, form: 'batched' },
  sample: 3,
};
export const UNBATCHED: Pick<StreamWork, 'streams' | 'load' | 'sample'> = {
  streams: STREAMS,
  load: { rate: 100, messageBytes: MESSAGE_BYTES, form: 'unbatched' },
  sample: 40,
};

export const fanout: Bench = {
  name: 'fanout',
  about: 'CPU per delivered frame with 1,000 and 10,000 streams, beside bare loops',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const form = options.short ? SHORT : FULL;
  const plan = { ...form, rounds: options.rounds ?? form.rounds };
  const names = [BARE, NODE, BETTER_SSE, BARE_AGAIN];
  progress.step('fanout: starting the servers');
  const feeds = await startFeeds([
    ...names.slice(0, 1).map((name) => () => controlFeed(name)),
    droverFeed,
    ...names.slice(1).map((name) => () => controlFeed(name)),
  ]);
  const swarm = await Swarm.start(feeds.length * STREAMS);
  const result: BenchResult = { metrics: [], tables: [], measurements: {} };
  try {
    for (const feed of feeds) await swarm.open(groupOf(feed), feed.target, STREAMS);
    const batched = await runBatched(feeds, swarm, plan, progress);
    const unbatched = await runUnbatched(feeds, swarm, plan, progress);
    result.metrics.push(...batchedMetrics(batched.measured), ...unbatchedMetrics(unbatched));
    result.tables.push(
      streamTable(title('batched', BATCHED, plan), batched.measured, [
        'The controls write the frames of a tick of 10 ms in one piece.',
        `better-sse gets a lower rate: ${batched.bestNote}.`,
      ]),
      streamTable(title('unbatched', UNBATCHED, plan), unbatched, [
        'The controls write each frame by itself. Latencies are from timestamp_ms, which is cut to whole',
        'milliseconds, so that all of them are up to 1 ms too long; 40 streams are parsed for them.',
      ]),
    );
    result.measurements = {
      batched: Object.fromEntries(batched.measured),
      unbatched: Object.fromEntries(unbatched),
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
  const large = await runLarge(plan.largeSeconds, MESSAGE_BYTES, progress);
  result.metrics.push(...large.metrics);
  result.tables.push(large.table);
  result.tables.push(
    metricTable('fanout: the service beside its controls', result.metrics, [
      'batched: delivered frames per CPU second of the server, service ÷ control. unbatched: service ÷ control, less is better.',
      'Medians of per-round ratios. Noise floor: the same bare loop ÷ itself, two processes, measured in the same rounds.',
    ]),
  );
  result.measurements = { ...(result.measurements as object), large: large.measurement };
  return result;
}

function title(name: string, { streams, load }: typeof BATCHED, plan: Plan): string {
  return `fanout, ${name}: ${whole(streams)} streams x ${whole(load.rate)} events/s (${plan.rounds} rounds of ${plan.seconds} s)`;
}

async function runBatched(
  feeds: readonly Feed[],
  swarm: Swarm,
  plan: Plan,
  progress: Progress,
): Promise<{ measured: Measurements<StreamMeasurement>; bestNote: string }> {
  const work: StreamWork = { ...BATCHED, ...plan };
  const better = feeds.find(({ name }) => name === BETTER_SSE);
  if (better === undefined) throw new Error('no better-sse');
  progress.step('fanout, batched: finding the best load for better-sse');
  const best = await bestLoad(better, swarm, work, plan.warmUpSeconds);
  const contenders = feeds.map((feed) =>
    streamContender(feed, swarm, feed === better ? { ...work, load: best.load } : work),
  );
  const measured = await runRounds('fanout, batched', contenders, plan.rounds, progress);
  return { measured, bestNote: best.note };
}

function runUnbatched(
  feeds: readonly Feed[],
  swarm: Swarm,
  plan: Plan,
  progress: Progress,
): Promise<Measurements<StreamMeasurement>> {
  const work: StreamWork = { ...UNBATCHED, ...plan };
  const contenders = feeds.map((feed) => streamContender(feed, swarm, work));
  return runRounds('fanout, unbatched', contenders, plan.rounds, progress);
}

function batchedMetrics(measured: Measurements<StreamMeasurement>): Metric[] {
  const of = (name: string) => series(measured, name, (one) => one.framesPerCpuS);
  const bare = of(BARE);
  const noise = { first: bare, again: of(BARE_AGAIN) };
  const metric = (control: string, min?: number): Metric =>
    ratioMetric({
      id: `batched/${control}`,
      subject: of(SUBJECT),
      control: control === BARE ? bare : of(control),
      noise,
      better: 'more',
      ...(min === undefined ? {} : { target: { min } }),
    });
  return [metric(BETTER_SSE, 60), metric(BARE, 0.8), metric(NODE)];
}

function unbatchedMetrics(measured: Measurements<StreamMeasurement>): Metric[] {
  const metrics = (
    what: string,
    pick: (one: StreamMeasurement) => number,
    max: number,
  ): Metric[] => {
    const of = (name: string) => series(measured, name, pick);
    const bare = of(BARE);
    const noise = { first: bare, again: of(BARE_AGAIN) };
    const subject = of(SUBJECT);
    return [
      factorMetric({
        id: `unbatched/${what}/${BARE}`,
        subject,
        control: bare,
        noise,
        target: { max },
      }),
      ...[NODE, BETTER_SSE].map((name) =>
        factorMetric({ id: `unbatched/${what}/${name}`, subject, control: of(name), noise }),
      ),
    ];
  };
  return [
    ...metrics('cpu', (one) => one.cpuUsPerFrame, 1.2),
    ...metrics('p99', (one) => one.p99Ms, 2),
  ];
}
