// Compares the service and the control with many idle bots.

import {
  type BenchResult,
  type Bound,
  contenderTable,
  type Metric,
  medianMetric,
  medianOf,
} from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from '../harness/rounds.js';
import { type Table, whole } from '../harness/table.js';
import { type CrowdMeasurement, type CrowdPlan, measureCrowd } from './crowd.js';
import { BARE, BARE_AGAIN, type BotsHost, ServiceHost, SUBJECT, startBare } from './hosts.js';
import { BOTS, type Plan, ratioToBare } from './part.js';

export async function runCrowd(plan: Plan, progress: Progress): Promise<BenchResult> {
  const crowd: CrowdPlan = { bots: BOTS, idleMs: plan.idleMs };
  const contenders = [
    crowdContender(SUBJECT, () => ServiceHost.start(), crowd),
    crowdContender(BARE, () => startBare(BARE), crowd),
    crowdContender(BARE_AGAIN, () => startBare(BARE_AGAIN), crowd),
  ];
  const measured = await runRounds('bots, idle', contenders, plan.crowdRounds, progress);
  return {
    metrics: crowdMetrics(measured),
    tables: [crowdTable(measured, plan)],
    measurements: { idle: Object.fromEntries(measured) },
  };
}

function crowdContender(
  name: string,
  start: () => Promise<BotsHost>,
  plan: CrowdPlan,
): Contender<CrowdMeasurement> {
  // Each measurement uses a new process, because memory that was used once is not returned.
  return {
    name,
    warmUp: async () => {},
    measure: async () => measureCrowd(await start(), plan),
  };
}

function crowdMetrics(measured: Measurements<CrowdMeasurement>): Metric[] {
  const of = (pick: (one: CrowdMeasurement) => number) => (name: string) =>
    series(measured, name, pick);
  const ratio = (what: string, better: 'more' | 'less', pick: (one: CrowdMeasurement) => number) =>
    ratioToBare(`idle/${what}/${BARE}`, better, of(pick));
  const own = (
    what: string,
    unit: string,
    pick: (one: CrowdMeasurement) => number,
    target?: Bound,
  ): Metric => medianMetric(`idle/${what}`, unit, of(pick)(SUBJECT), target);
  return [
    own('bots-per-host', 'bots', ({ hostThreads }) => BOTS / hostThreads, { min: BOTS }),
    own('memory', 'KB/bot', ({ pss }) => pss / 1e3),
    ratio('memory', 'less', ({ pss }) => pss),
    own('start-rate', 'bots/s', ({ startsPerS }) => startsPerS),
    ratio('start-rate', 'more', ({ startsPerS }) => startsPerS),
    ratio('start-cpu', 'less', ({ cpuUsPerStart }) => cpuUsPerStart),
    own('restore-rate', 'bots/s', ({ restored }) => restored?.perS ?? Number.NaN),
    own('idle-cpu', '%', ({ idleCpu }) => idleCpu),
  ];
}

function crowdTable(measured: Measurements<CrowdMeasurement>, plan: Plan): Table {
  return contenderTable(
    `bots: ${whole(BOTS)} idle bots on one host (${plan.crowdRounds} rounds, a fresh process each)`,
    measured,
    [
      ['PSS KB/bot', medianOf(({ pss }) => pss / 1e3)],
      ['RSS KB/bot', medianOf(({ rss }) => rss / 1e3)],
      ['all PSS MB', medianOf(({ totalPss }) => totalPss / 1e6, whole)],
      ['starts/s', medianOf(({ startsPerS }) => startsPerS, whole)],
      ['CPU µs/start', medianOf(({ cpuUsPerStart }) => cpuUsPerStart, whole)],
      ['idle CPU %', medianOf(({ idleCpu }) => idleCpu)],
      ['restored/s', medianOf(({ restored }) => restored?.perS, whole)],
      ['restored MB', medianOf(({ restored }) => restored && restored.totalPss / 1e6, whole)],
    ],
    [
      "The control's bots are objects with only what the kind needs; the service also has each on disk, on the stream and in its list.",
      'Before each reading of memory the service fills its ring, so that the ring does not count as memory of the bots.',
    ],
  );
}
