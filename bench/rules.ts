// The rules bench: what 100 rules cost the service while events are written flat out, beside services without rules.

import { ask } from './harness/ask.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Bound,
  contenderTable,
  factorMetric,
  type Metric,
  medianOf,
  metricTable,
  planOf,
  type TimedPlan,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { percent, type Table, whole } from './harness/table.js';
import { type Measurement as Ingested, serviceContender } from './ingest.js';
import { closeFeeds, type DroverFeed, droverFeed, startFeeds } from './streams/feeds.js';
import { Swarm } from './streams/swarm.js';

const FULL: TimedPlan = { rounds: 7, seconds: 3, warmUpSeconds: 0.5 };
const SHORT: TimedPlan = { ...FULL, rounds: 3, seconds: 1 };

const NONE = 'no rules';
const NONE_AGAIN = 'no rules again';
const WITH = '100 rules';
const RULES: Readonly<Record<string, number>> = {
  [NONE]: 0,
  [WITH]: 100,
  [NONE_AGAIN]: 0,
};
/** Most that 100 rules may cost, as a factor. */
const MOST = { least: 0.9, most: 1.1 };

export const rules: Bench = {
  name: 'rules',
  about: 'what 100 rules cost: events into the ring',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  progress.step('rules: starting the services');
  const settings = { hosts: { count: 1, bot_lines_per_second: 0 } };
  const feeds = (await startFeeds(
    Object.keys(RULES).map((name) => () => droverFeed(name, settings)),
  )) as DroverFeed[];
  const swarm = await Swarm.start(1);
  try {
    for (const feed of feeds) await createRules(feed, RULES[feed.name] as number);
    const contenders = feeds.map((feed) => serviceContender(feed.name, feed, swarm, 0, plan));
    const measured = await runRounds('rules, ingest', contenders, plan.rounds, progress);
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('rules', metrics, [
          'rate: events in the ring a second, with rules ÷ without. cpu: CPU of the process for each of them, with ÷ without.',
          'Noise floor: a service without rules ÷ another one.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

/** Rules of four sorts that never fire: what they read is what they cost. */
function queryOf(rule: number): string {
  const queries = [
    `"refused by host ${rule}"`,
    `level:error bot:shop-${rule}`,
    `/took \\d{4,} ms, attempt ${rule}$/`,
    `label:team=t${rule} level:warn`,
  ];
  return queries[rule % queries.length] as string;
}

async function createRules({ drover }: DroverFeed, count: number): Promise<void> {
  const { server, authorization } = drover;
  for (let rule = 0; rule < count; rule++) {
    const body = {
      name: `rule ${rule}`,
      query: queryOf(rule),
      condition: 'count',
      threshold: 1,
      window_ms: 60_000,
    };
    await ask(server.url, '/api/rules', { method: 'POST', authorization, body });
  }
}

function metricsOf(measured: Measurements<Ingested>): Metric[] {
  const metric = (what: string, pick: (one: Ingested) => number, target: Bound): Metric => {
    const control = series(measured, NONE, pick);
    return factorMetric({
      id: `ingest/${what}/${RULES[WITH]}`,
      subject: series(measured, WITH, pick),
      control,
      noise: { first: control, again: series(measured, NONE_AGAIN, pick) },
      target,
    });
  };
  return [
    metric('rate', ({ eventsPerS }) => eventsPerS, { min: MOST.least }),
    metric('cpu', ({ cpuUsPerEvent }) => cpuUsPerEvent, { max: MOST.most }),
  ];
}

function tableOf(measured: Measurements<Ingested>, plan: TimedPlan): Table {
  return contenderTable(
    `rules: one bot flat out (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      ['events/s', medianOf(({ eventsPerS }) => eventsPerS, whole)],
      ['CPU µs/event', medianOf(({ cpuUsPerEvent }) => cpuUsPerEvent)],
      ['server CPU', medianOf(({ serverCores }) => serverCores, percent)],
    ],
    ['A quarter of the rules each: a text, level and bot, a regular expression, a label.'],
  );
}
