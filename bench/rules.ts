// The rules bench: what 1 and 100 rules cost the service while events are written flat out, and while they go to many streams,
// beside services without rules.

import { STEADY } from './fanout/loads.js';
import { ask } from './harness/ask.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  factorMetric,
  type Metric,
  metricTable,
} from './harness/bench.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { median } from './harness/stats.js';
import { number, percent, type Table, whole } from './harness/table.js';
import { serviceContender } from './ingest.js';
import { closeFeeds, type DroverFeed, droverFeed, startFeeds } from './streams/feeds.js';
import { groupOf, streamContender } from './streams/measurement.js';
import { Swarm } from './streams/swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
}
const FULL: Plan = { rounds: 7, seconds: 3, warmUpSeconds: 2 };
const SHORT: Plan = { rounds: 3, seconds: 1, warmUpSeconds: 0.5 };

const NONE = 'no rules';
const NONE_AGAIN = 'no rules again';
const RULES: Readonly<Record<string, number>> = {
  [NONE]: 0,
  '1 rule': 1,
  '100 rules': 100,
  [NONE_AGAIN]: 0,
};
/** Most that 100 rules may cost, as a factor. */
const MOST = { least: 0.9, most: 1.1 };

/** What both loads measure. */
interface Cost {
  perS: number;
  cpuUs: number;
  cores: number;
}

export const rules: Bench = {
  name: 'rules',
  about: 'what 1 and 100 rules cost: events into the ring, and to 1,000 streams',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const form = options.short ? SHORT : FULL;
  const plan = { ...form, rounds: options.rounds ?? form.rounds };
  progress.step('rules: starting the services');
  const settings = { hosts: { count: 1, bot_lines_per_second: 0 } };
  const feeds = (await startFeeds(
    Object.keys(RULES).map((name) => () => droverFeed(name, settings)),
  )) as DroverFeed[];
  const swarm = await Swarm.start(feeds.length * STEADY.streams);
  try {
    for (const feed of feeds) await createRules(feed, RULES[feed.name] as number);
    const ingest = await measureIngest(feeds, swarm, plan, progress);
    const fanout = await measureFanout(feeds, swarm, plan, progress);
    const metrics = [...metricsOf('ingest', ingest), ...metricsOf('fanout', fanout)];
    return {
      metrics,
      tables: [
        tableOf('one bot flat out', 'events', ingest, plan),
        tableOf(
          `${whole(STEADY.streams)} streams x ${whole(STEADY.load.rate)} events/s`,
          'frames',
          fanout,
          plan,
        ),
        metricTable('rules', metrics, [
          'rate: events in the ring, or frames that arrived, a second, with rules ÷ without. cpu: CPU of the process for each of them, with ÷ without.',
          'Noise floor: a service without rules ÷ another one.',
        ]),
      ],
      measurements: { ingest: Object.fromEntries(ingest), fanout: Object.fromEntries(fanout) },
    };
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

async function measureIngest(
  feeds: readonly DroverFeed[],
  swarm: Swarm,
  plan: Plan,
  progress: Progress,
): Promise<Measurements<Cost>> {
  const contenders = feeds.map((feed) => serviceContender(feed.name, feed, swarm, 0, plan));
  const measured = await runRounds('rules, ingest', contenders, plan.rounds, progress);
  return costs(measured, ({ eventsPerS, cpuUsPerEvent, serverCores }) => ({
    perS: eventsPerS,
    cpuUs: cpuUsPerEvent,
    cores: serverCores,
  }));
}

async function measureFanout(
  feeds: readonly DroverFeed[],
  swarm: Swarm,
  plan: Plan,
  progress: Progress,
): Promise<Measurements<Cost>> {
  for (const feed of feeds) await swarm.open(groupOf(feed), feed.target, STEADY.streams);
  const contenders = feeds.map((feed) => streamContender(feed, swarm, { ...STEADY, ...plan }));
  const measured = await runRounds('rules, fanout', contenders, plan.rounds, progress);
  return costs(measured, ({ framesPerS, cpuUsPerFrame, serverCores }) => ({
    perS: framesPerS,
    cpuUs: cpuUsPerFrame,
    cores: serverCores,
  }));
}

function costs<M>(measured: Measurements<M>, costOf: (one: M) => Cost): Measurements<Cost> {
  return new Map([...measured].map(([name, all]) => [name, all.map(costOf)]));
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

function metricsOf(load: string, measured: Measurements<Cost>): Metric[] {
  const metric = (name: string, what: 'rate' | 'cpu'): Metric => {
    const pick = (one: Cost): number => (what === 'rate' ? one.perS : one.cpuUs);
    const control = series(measured, NONE, pick);
    return factorMetric({
      id: `${load}/${what}/${RULES[name]}`,
      subject: series(measured, name, pick),
      control,
      noise: { first: control, again: series(measured, NONE_AGAIN, pick) },
      target: what === 'rate' ? { min: MOST.least } : { max: MOST.most },
    });
  };
  const withRules = Object.keys(RULES).filter((name) => RULES[name] !== 0);
  return withRules.flatMap((name) => [metric(name, 'rate'), metric(name, 'cpu')]);
}

function tableOf(load: string, unit: string, measured: Measurements<Cost>, plan: Plan): Table {
  return {
    title: `rules: ${load} (${plan.rounds} rounds of ${plan.seconds} s)`,
    header: ['medians', `${unit}/s`, `CPU µs/${unit.slice(0, -1)}`, 'server CPU'],
    rows: [...measured.keys()].map((name) => {
      const middle = (pick: (one: Cost) => number) => median(series(measured, name, pick));
      return [
        name,
        whole(middle((one) => one.perS)),
        number(middle((one) => one.cpuUs)),
        percent(middle((one) => one.cores)),
      ];
    }),
    notes: ['A quarter of the rules each: a text, level and bot, a regular expression, a label.'],
  };
}
