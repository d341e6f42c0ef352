// The fan-out bench over TLS: bytes per CPU second of both engines, beside bare loops.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { makeCertificate } from '../test/harness/certificate.js';
import { STEADY, shareMetric } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
  planOf,
  ratioMetric,
  type TimedPlan,
} from './harness/bench.js';
import { removeAtExit } from './harness/child.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { whole } from './harness/table.js';
import {
  BARE,
  BARE_AGAIN,
  BEFORE,
  closeFeeds,
  controlFeed,
  droverFeed,
  LARGE,
  NODE,
  ON_NODE,
  SUBJECT,
  startFeeds,
} from './streams/feeds.js';
import { groupOf, type StreamMeasurement, streamContender } from './streams/measurement.js';
import { MixedSwarm } from './streams/mixed-swarm.js';
import { streamTable } from './streams/stream-table.js';

const FULL: TimedPlan = { rounds: 7, seconds: 3, warmUpSeconds: 1.5 };
const SHORT: TimedPlan = { rounds: 2, seconds: 0.7, warmUpSeconds: 0.5 };

/**
 * Events per second. At 10,000 encryption alone needs more than a core, and a bare loop that does not wait for its clients would
 * collect gigabytes.
 */
const RATE = 3_000;
const WORK = { ...STEADY, load: { ...STEADY.load, rate: RATE }, sample: 3 };
const LEAST_TIMES = 0.8;

export const fanoutTls: Bench = {
  name: 'fanout-tls',
  about: 'bytes per CPU second with 1,000 streams over TLS, on both engines, beside bare loops',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const { before } = options;
  const directory = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  removeAtExit(directory);
  const { certPath: cert, keyPath: key } = makeCertificate(directory, 'bench', 1);
  const certificate = { cert, key };
  const settings = { tls: certificate };
  progress.step('fanout-tls: starting the servers');
  const feeds = await startFeeds([
    () => controlFeed(BARE, certificate),
    () => droverFeed(SUBJECT, settings),
    ...(before ? [() => droverFeed(BEFORE, settings, { build: before })] : []),
    () => controlFeed(LARGE, certificate),
    () => droverFeed(ON_NODE, { ...settings, engine: 'node' }),
    () => controlFeed(NODE, certificate),
    () => controlFeed(BARE_AGAIN, certificate),
  ]);
  const clients = await MixedSwarm.start(feeds.length);
  try {
    for (const feed of feeds) await clients.open(groupOf(feed), feed.target, WORK.streams);
    const contenders = feeds.map((feed) => streamContender(feed, clients, { ...WORK, ...plan }));
    const measured = await runRounds('fanout-tls', contenders, plan.rounds, progress);
    const metrics = metricsOf(measured);
    const title = `fanout-tls: ${whole(WORK.streams)} streams x ${whole(RATE)} events/s (${plan.rounds} rounds of ${plan.seconds} s)`;
    return {
      metrics,
      tables: [
        streamTable(title, measured),
        metricTable('fanout-tls: the service beside its controls', metrics, [
          'Delivered frames per CPU second of the server, service ÷ control.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await clients.stop();
    await closeFeeds(feeds);
  }
}

function metricsOf(measured: Measurements<StreamMeasurement>): Metric[] {
  const of = (name: string) => series(measured, name, (one) => one.framesPerCpuS);
  const bare = of(BARE);
  const ratio = (subject: string, control: string, min?: number): Metric =>
    ratioMetric({
      id: `${subject}/${control}`,
      subject: of(subject),
      control: control === BARE ? bare : of(control),
      noise: { first: bare, again: of(BARE_AGAIN) },
      better: 'more',
      target: min === undefined ? undefined : { min },
    });
  return [
    ratio(SUBJECT, BARE, LEAST_TIMES),
    ratio(SUBJECT, LARGE),
    ratio(ON_NODE, NODE, LEAST_TIMES),
    ratio(ON_NODE, SUBJECT),
    ...(measured.has(BEFORE) ? [ratio(SUBJECT, BEFORE)] : []),
    shareMetric(`${SUBJECT}/delivered`, measured, SUBJECT),
    shareMetric(`${ON_NODE}/delivered`, measured, ON_NODE),
  ];
}
