// The HTTP bench: CPU per request, beside bare servers.

import { setTimeout as delay } from 'node:timers/promises';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Bound,
  type Metric,
  metricTable,
  planOf,
  ratioMetric,
  type TimedPlan,
} from './harness/bench.js';
import type { Drover } from './harness/drover.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { type Table, whole } from './harness/table.js';
import { BARE, BARE_AGAIN, NODE, ON_NODE, SUBJECT, startFleet } from './http/fleet.js';
import { contenderOf, type Load, type Measurement, requestTable } from './http/measurement.js';
import { BOTS, LIST, ROUTES_WITHOUT_BOTS, type Route } from './http/routes.js';

const FULL: TimedPlan = { rounds: 7, seconds: 1.5, warmUpSeconds: 1 };
const SHORT: TimedPlan = { rounds: 5, seconds: 0.4, warmUpSeconds: 0.4 };

/** Idle time before the idle CPU is measured, and the duration of that measurement. */
const SETTLE_MS = 500;
const IDLE_MS = 1_000;

export const http: Bench = {
  name: 'http',
  about: '/health, wrong PINs, /api-info and /api/bots: CPU per request beside bare servers',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    const parts = [
      await runGroup(ROUTES_WITHOUT_BOTS, 0, plan, load, progress),
      await runGroup([LIST], BOTS, plan, load, progress),
    ];
    const metrics = parts.flatMap((part) => part.metrics);
    const summary = metricTable(
      `http: CPU per request of a control ÷ that of ${SUBJECT} (above 1: ${SUBJECT} needs less)`,
      metrics,
      [
        'Medians of per-round ratios. Noise floor: the same bare loop ÷ itself, two processes, measured in the same rounds.',
        'idle-cpu: what the process uses without a request, in percent of one core.',
        ...parts.flatMap((part) => part.notes),
      ],
    );
    return {
      metrics,
      tables: [...parts.flatMap((part) => part.tables), summary],
      measurements: Object.assign({}, ...parts.map((part) => part.measurements)),
    };
  } finally {
    await load.stop();
  }
}

interface GroupResult {
  metrics: Metric[];
  tables: Table[];
  notes: string[];
  measurements: Record<string, Record<string, readonly Measurement[]>>;
}

/** Measures routes on the same servers. */
async function runGroup(
  routes: readonly Route[],
  bots: number,
  plan: TimedPlan,
  load: Load,
  progress: Progress,
): Promise<GroupResult> {
  progress.step(`http: starting the servers${bots > 0 ? `, ${whole(bots)} bots` : ''}`);
  const fleet = await startFleet(bots);
  const result: GroupResult = { metrics: [], tables: [], notes: [], measurements: {} };
  try {
    const idle = await idleMetric(fleet.drover, bots);
    for (const route of routes) {
      const contenders = fleet.members.map(({ server, target }) =>
        contenderOf(server, target, route, plan, load),
      );
      const measured = await runRounds(`http, ${route.title}`, contenders, plan.rounds, progress);
      result.tables.push(requestTable('http', route, plan, measured));
      result.metrics.push(...metricsOf(route, measured));
      result.measurements[route.id] = Object.fromEntries(measured);
    }
    result.metrics.push(idle);
    result.notes.push(memoryNote(fleet.drover, bots));
  } finally {
    const ended = await fleet.stop();
    if (ended !== 'exit code 0') progress.note(`${SUBJECT} did not exit cleanly: ${ended}`);
  }
  return result;
}

/** Idle CPU of the service, which is included in its other metrics; in percent of a core. */
async function idleMetric({ server }: Drover, bots: number): Promise<Metric> {
  await delay(SETTLE_MS);
  const { use } = await server.cpuDuring(() => delay(IDLE_MS));
  const value = (use.cpuNs / use.wallNs) * 100;
  return { id: `idle-cpu/${bots}-bots`, value, unit: '%' };
}

function memoryNote({ server }: Drover, bots: number): string {
  const { rss, pss } = server.memory();
  const mebibytes = (bytes: number) => `${whole(bytes / 2 ** 20)} MiB`;
  return `Memory of ${SUBJECT} after the load, ${whole(bots)} bots: ${mebibytes(rss)} resident, ${mebibytes(pss)} PSS.`;
}

function metricsOf(route: Route, measured: Measurements<Measurement>): Metric[] {
  const cpu = (name: string) => series(measured, name, (one) => one.cpuUsPerRequest);
  const bare = cpu(BARE);
  const noise = { first: bare, again: cpu(BARE_AGAIN) };
  const ratio = (id: string, subject: string, control: string, target?: Bound): Metric =>
    ratioMetric({
      id: `${route.id}/${id}`,
      subject: cpu(subject),
      control: control === BARE ? bare : cpu(control),
      noise,
      better: 'less',
      target,
    });
  return [
    ratio(BARE, SUBJECT, BARE, route.target),
    ratio(NODE, SUBJECT, NODE),
    ratio(`${ON_NODE}/${NODE}`, ON_NODE, NODE),
    ratio(`${ON_NODE}/${SUBJECT}`, ON_NODE, SUBJECT),
  ];
}
