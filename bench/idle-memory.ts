// The idle-memory bench: process memory per idle stream.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  contenderTable,
  type Metric,
  medianMetric,
  medianOf,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { type Table, whole } from './harness/table.js';
import { BARE, controlFeed, droverFeed, type Feed, ON_NODE, SUBJECT } from './streams/feeds.js';
import { groupOf } from './streams/measurement.js';
import { Swarm } from './streams/swarm.js';

const STREAMS = 10_000;
/** Opened first, so that one-time costs are not counted. */
const FIRST = 100;
const MOST_KB = 3;
const SETTLE_MS = 600;

/** In bytes for each stream. */
interface Measurement {
  pss: number;
  rss: number;
  /** The whole process with all streams open. */
  totalPss: number;
}

export const idleMemory: Bench = {
  name: 'idle-memory',
  about: '10,000 idle streams: process memory for each',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const rounds = options.rounds ?? (options.short ? 2 : 5);
  const contenders = [
    contender(SUBJECT, () => droverFeed()),
    contender(ON_NODE, () => droverFeed(ON_NODE, { engine: 'node' })),
    contender(BARE, () => controlFeed(BARE)),
  ];
  const measured = await runRounds('idle-memory', contenders, rounds, progress);
  const metrics = [...measured.keys()].map((name) => metricOf(name, measured));
  return {
    metrics,
    tables: [
      tableOf(measured, rounds),
      metricTable('idle-memory: process memory (PSS) for each idle stream', metrics, [
        'Each measurement uses a new process, because memory that was used once is not returned.',
      ]),
    ],
    measurements: Object.fromEntries(measured),
  };
}

function contender(name: string, start: () => Promise<Feed>): Contender<Measurement> {
  return { name, warmUp: async () => {}, measure: () => measure(start) };
}

async function measure(start: () => Promise<Feed>): Promise<Measurement> {
  const feed = await start();
  const swarm = await Swarm.start(STREAMS + FIRST);
  try {
    await swarm.open('first', feed.target, FIRST);
    await delay(SETTLE_MS);
    const before = feed.server.memory();
    const { closed } = await swarm.open(groupOf(feed), feed.target, STREAMS);
    await delay(SETTLE_MS);
    const after = feed.server.memory();
    if (closed > 0) throw new Error(`${feed.name} ended ${closed} idle streams`);
    return {
      pss: (after.pss - before.pss) / STREAMS,
      rss: (after.rss - before.rss) / STREAMS,
      totalPss: after.pss,
    };
  } finally {
    await swarm.stop();
    await feed.close();
  }
}

function metricOf(name: string, measured: Measurements<Measurement>): Metric {
  const values = series(measured, name, (one) => one.pss / 1000);
  return medianMetric(name, 'KB', values, name === SUBJECT ? { max: MOST_KB } : undefined);
}

function tableOf(measured: Measurements<Measurement>, rounds: number): Table {
  return contenderTable(
    `idle-memory: ${whole(STREAMS)} idle streams (${rounds} rounds, a fresh process each)`,
    measured,
    [
      ['PSS KB/stream', medianOf((one) => one.pss / 1000)],
      ['RSS KB/stream', medianOf((one) => one.rss / 1000)],
      ['process, PSS MB', medianOf((one) => one.totalPss / 1e6, whole)],
    ],
    ['Before them 100 streams were opened that are not counted.'],
  );
}
