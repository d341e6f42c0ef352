// The crowd bench: a full service is killed, and all its clients come back.

import { type CrowdPlan, measureReturn, type ReturnMeasurement } from './crowd/measurement.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  medianMetric,
  metricTable,
  planOf,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { number, percent, type Table, whole } from './harness/table.js';
import type { ComingBack } from './load/crowd-jobs.js';

interface Plan extends Omit<CrowdPlan, 'comingBack'> {
  rounds: number;
}

/** Of 20,000 open files: the others are for threads, files and requests. */
const FULL: Plan = { rounds: 3, streams: 19_000, signIns: 500 };
const SHORT: Plan = { rounds: 1, streams: 1_000, signIns: 50 };

const FORMS: readonly ComingBack[] = ['as-told', 'at-once'];
const MOST_S = 15;
const MOST_HEALTH_MS = 100;

export const crowd: Bench = {
  name: 'crowd',
  about: 'all streams of a full service lose it by kill -9 and come back',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const measured = new Map<ComingBack, ReturnMeasurement[]>(FORMS.map((name) => [name, []]));
  for (let round = 0; round < plan.rounds; round++) {
    for (const comingBack of FORMS) {
      progress.step(`crowd: round ${round + 1} of ${plan.rounds}, ${comingBack}`);
      measured.get(comingBack)?.push(await measureReturn({ ...plan, comingBack }));
    }
  }
  const metrics = FORMS.flatMap((name) => metricsOf(name, measured.get(name) ?? []));
  return {
    metrics,
    tables: [tableOf(measured, plan), metricTable('crowd', metrics, NOTES)],
    measurements: Object.fromEntries(measured),
  };
}

const NOTES = [
  'as-told: each client waits for its `retry:` after each loss and refusal, as browsers do. at-once: all connect when the port opens.',
  'resumed: from the start of the new process until the last client has its frames, the gap of the crash and the live stream.',
  'health: the longest response from the first one on, on new connections and on one that stays open.',
];

function metricsOf(name: ComingBack, measured: readonly ReturnMeasurement[]): Metric[] {
  const metric = (
    id: string,
    unit: string,
    pick: (one: ReturnMeasurement) => number,
    max?: number,
  ): Metric =>
    medianMetric(
      `${name}/${id}`,
      unit,
      measured.map(pick),
      max === undefined ? undefined : { max },
    );
  return [
    metric('resumed', 's', ({ lastMs }) => lastMs / 1e3, MOST_S),
    metric(
      'health',
      'ms',
      ({ health }) => Math.max(health.fresh.maxMs, health.kept.maxMs),
      MOST_HEALTH_MS,
    ),
    metric('sign-in', 'ms', ({ signIns }) => signIns.maxMs),
    metric('cpu', 'us', ({ cpuNsPerStream }) => cpuNsPerStream / 1e3),
  ];
}

function tableOf(measured: ReadonlyMap<ComingBack, ReturnMeasurement[]>, plan: Plan): Table {
  const rows = [...measured].flatMap(([name, all]) =>
    all.map((one) => [
      name,
      number(one.listeningMs / 1e3),
      number(one.medianMs / 1e3),
      number(one.lastMs / 1e3),
      whole(one.connectionsRefused),
      whole(one.queueOverflows),
      whole(one.replayed),
      number(one.health.fresh.p99Ms),
      number(one.health.fresh.maxMs),
      number(one.health.kept.maxMs),
      number(one.health.ownLagMs),
      number(one.signIns.p50Ms),
      number(one.signIns.maxMs),
      whole(one.cpuNsPerStream / 1e3),
      number(one.writesPerStream),
      percent(one.loadWait),
    ]),
  );
  return {
    title: `crowd: ${whole(plan.streams)} streams come back after kill -9, ${whole(plan.signIns)} sign-ins beside them`,
    header: [
      'each round',
      'listens s',
      'half back s',
      'all back s',
      'refused',
      'overflows',
      'replayed',
      'health p99',
      'max, new',
      'max, kept',
      'own lag',
      'sign-in p50',
      'max ms',
      'CPU µs/stream',
      'writes/stream',
      'load waits',
    ],
    rows,
    notes: [
      'Times from the start of the new process. overflows: connections that found the accept queue full, and come again after 1 s.',
      'own lag: the longest delay of the timers that request /health. load waits: the share of time that a load process had no core.',
    ],
  };
}
