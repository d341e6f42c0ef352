// Compares the service and the control with many idle bots.

import type { Metric } from '../harness/bench.js';
import type { Progress } from '../harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from '../harness/rounds.js';
import { median, summarize } from '../harness/stats.js';
import { number, type Table, whole } from '../harness/table.js';
import { type CrowdMeasurement, type CrowdPlan, measureCrowd } from './crowd.js';
import { BARE, BARE_AGAIN, type BotsHost, ServiceHost, SUBJECT, startBare } from './hosts.js';
import { BOTS, type Part, type Plan, ratioToBare } from './part.js';

export async function runCrowd(
  id: string,
  connected: boolean,
  plan: Plan,
  progress: Progress,
): Promise<Part> {
  const crowd: CrowdPlan = { bots: BOTS, connected, idleMs: plan.idleMs };
  const contenders = [
    crowdContender(SUBJECT, () => ServiceHost.start(), crowd),
    crowdContender(BARE, () => startBare(BARE), crowd),
    crowdContender(BARE_AGAIN, () => startBare(BARE_AGAIN), crowd),
  ];
  const measured = await runRounds(`bots, ${id}`, contenders, plan.crowdRounds, progress);
  return {
    metrics: crowdMetrics(id, measured),
    tables: [crowdTable(id, measured, plan)],
    measurements: { [id]: Object.fromEntries(measured) },
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

function crowdMetrics(id: string, measured: Measurements<CrowdMeasurement>): Metric[] {
  const of = (pick: (one: CrowdMeasurement) => number) => (name: string) =>
    series(measured, name, pick);
  const ratio = (what: string, better: 'more' | 'less', pick: (one: CrowdMeasurement) => number) =>
    ratioToBare(`${id}/${what}/${BARE}`, better, of(pick));
  const own = (
    what: string,
    unit: string,
    pick: (one: CrowdMeasurement) => number,
    target?: Metric['target'],
  ): Metric => {
    const spread = summarize(of(pick)(SUBJECT));
    return { id: `${id}/${what}`, value: spread.median, unit, spread, ...(target && { target }) };
  };
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

function crowdTable(id: string, measured: Measurements<CrowdMeasurement>, plan: Plan): Table {
  const middle = (name: string, pick: (one: CrowdMeasurement) => number) =>
    median(series(measured, name, pick));
  const megabytes = (bytes: number) => whole(bytes / 1e6);
  return {
    title: `bots: ${whole(BOTS)} ${id} bots on one host (${plan.crowdRounds} rounds, a fresh process each)`,
    header: [
      'medians',
      'PSS KB/bot',
      'RSS KB/bot',
      'all PSS MB',
      'starts/s',
      'CPU µs/start',
      'idle CPU %',
      'restored/s',
      'restored MB',
    ],
    rows: [SUBJECT, BARE, BARE_AGAIN].map((name) => [
      name,
      number(middle(name, ({ pss }) => pss / 1e3)),
      number(middle(name, ({ rss }) => rss / 1e3)),
      megabytes(middle(name, ({ totalPss }) => totalPss)),
      whole(middle(name, ({ startsPerS }) => startsPerS)),
      whole(middle(name, ({ cpuUsPerStart }) => cpuUsPerStart)),
      number(middle(name, ({ idleCpu }) => idleCpu)),
      ...(name === SUBJECT
        ? [
            whole(middle(name, ({ restored }) => restored?.perS ?? Number.NaN)),
            megabytes(middle(name, ({ restored }) => restored?.totalPss ?? Number.NaN)),
          ]
        : ['', '']),
    ]),
    notes: [
      `The control's bots are objects with only what the kind needs; the service also has each on disk, on the stream and in its list.`,
      'Before each reading of memory the service fills its ring, so that the ring does not count as memory of the bots.',
    ],
  };
}
