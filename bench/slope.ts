// The slope bench: what one more stream or bot costs, as a line through measurements of one service at growing numbers.

import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Line, lineThrough } from './harness/stats.js';
import { number, type Table, whole } from './harness/table.js';
import { blockedStreams, idleBots, idleStreams, type Point } from './slope/points.js';

interface Series {
  id: 'idle-streams' | 'blocked-streams' | 'idle-bots';
  what: 'stream' | 'bot';
  measure: (counts: readonly number[], seconds: number) => Promise<Point[]>;
  full: { counts: readonly number[]; seconds: number };
  short: { counts: readonly number[]; seconds: number };
}

const STREAMS = { full: [1_000, 7_000, 13_000, 19_000], short: [200, 600, 1_000] };
/** The kernel buffers some 300 KB for each: more would not fit its memory for TCP (net.ipv4.tcp_mem), here 2.2 GB. */
const BLOCKED = { full: [1_000, 2_000, 3_500, 5_000], short: [200, 600, 1_000] };
const BOTS = { full: [100, 5_000, 10_000, 15_000, 20_000], short: [100, 500, 1_000] };
/** The interval of heartbeats. */
const HEARTBEAT_S = 15;

const ALL: readonly Series[] = [
  {
    id: 'idle-streams',
    what: 'stream',
    measure: idleStreams,
    full: { counts: STREAMS.full, seconds: HEARTBEAT_S },
    short: { counts: STREAMS.short, seconds: 2 },
  },
  {
    id: 'blocked-streams',
    what: 'stream',
    measure: blockedStreams,
    full: { counts: BLOCKED.full, seconds: 8 },
    short: { counts: BLOCKED.short, seconds: 2 },
  },
  {
    id: 'idle-bots',
    what: 'bot',
    measure: idleBots,
    full: { counts: BOTS.full, seconds: 5 },
    short: { counts: BOTS.short, seconds: 2 },
  },
];

/** What a line goes through. */
interface Quantity {
  id: string;
  /** Of a point, and of the slope. */
  units: [point: string, slope: string];
  /** Unit of a point ÷ unit of the slope. */
  scale: number;
  of: (point: Point) => number;
}

const OF_PROCESS: readonly Quantity[] = [
  { id: 'memory', units: ['PSS MB', 'KB'], scale: 1e3, of: ({ memory }) => memory.pss / 1e6 },
  { id: 'cpu', units: ['CPU ms/s', 'us/s'], scale: 1e3, of: ({ cpu }) => cpu / 1e3 },
];
const OF_KERNEL: readonly Quantity[] = [
  {
    id: 'kernel-objects',
    units: ['kernel objects MB', 'KB'],
    scale: 1e3,
    of: ({ kernel }) => kernel.slab / 1e6,
  },
  {
    id: 'kernel-buffers',
    units: ['kernel buffers MB', 'KB'],
    scale: 1e3,
    of: ({ kernel }) => kernel.tcpBuffers / 1e6,
  },
];

/** Bots without connections take nothing of the kernel. */
function quantitiesOf({ what }: Series): readonly Quantity[] {
  return what === 'bot' ? OF_PROCESS : [...OF_PROCESS, ...OF_KERNEL];
}

export const slope: Bench = {
  name: 'slope',
  about: 'memory and CPU for each stream and bot: lines up to 19,000 streams and 20,000 bots',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const measured: [Series, Point[]][] = [];
  for (const series of ALL) {
    progress.step(`slope: ${series.id}`);
    const { counts, seconds } = options.short ? series.short : series.full;
    measured.push([series, await series.measure(counts, seconds)]);
  }
  const metrics = measured.flatMap(([series, points]) => metricsOf(series, points));
  return {
    metrics,
    tables: [
      ...measured.map(([series, points]) => tableOf(series, points)),
      metricTable('slope: for each stream or bot', metrics, [
        'kernel: of the whole system, both ends of each connection. It counts what other processes do meanwhile.',
      ]),
    ],
    measurements: Object.fromEntries(measured.map(([{ id }, points]) => [id, points])),
  };
}

function lineOf(points: readonly Point[], { of }: Quantity): Line {
  return lineThrough(points.map((point) => [point.count, of(point)]));
}

function metricsOf(series: Series, points: readonly Point[]): Metric[] {
  const { id, what } = series;
  return quantitiesOf(series).map((quantity) => ({
    id: `${id}/${quantity.id}`,
    value: lineOf(points, quantity).slope * quantity.scale,
    unit: `${quantity.units[1]}/${what}`,
  }));
}

function tableOf(series: Series, points: readonly Point[]): Table {
  const { id, what } = series;
  const quantities = quantitiesOf(series);
  const lines = quantities.map((quantity) => lineOf(points, quantity));
  return {
    title: `slope: ${id}`,
    header: [`${what}s`, ...quantities.map(({ units }) => units[0])],
    rows: [
      ...points.map((point) => [
        whole(point.count),
        ...quantities.map(({ of }) => number(of(point))),
      ]),
      [
        `each ${what} more`,
        ...quantities.map(
          ({ scale, units }, at) => `${number((lines[at]?.slope ?? 0) * scale)} ${units[1]}`,
        ),
      ],
      ['without any', ...lines.map(({ intercept }) => number(intercept))],
      ['fit (R²)', ...lines.map(({ fit }) => number(fit))],
    ],
    notes: ['Least squares through one service at growing numbers.'],
  };
}
