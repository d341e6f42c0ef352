// The processes bench: a bot host in a process beside one in a thread, in one run.

import { readdirSync, readFileSync } from 'node:fs';
import { createBots, ServiceHost } from './bots/hosts.js';
import { ECHO_ALONE } from './bots/invoke.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  factorMetric,
  type Metric,
  metricTable,
  planOf,
  ratioMetric,
  type TimedPlan,
} from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { type Measurements, runRounds, series } from './harness/rounds.js';
import { median } from './harness/stats.js';
import { number, type Table, whole } from './harness/table.js';
import { contenderOf, type Load, type Measurement as Requests } from './http/measurement.js';
import { type Measurement as Ingested, serviceContender } from './ingest.js';
import { type DroverFeed, droverFeed } from './streams/feeds.js';
import { Swarm } from './streams/swarm.js';

const FULL: TimedPlan = { rounds: 7, seconds: 3, warmUpSeconds: 1 };
const SHORT: TimedPlan = { rounds: 3, seconds: 0.6, warmUpSeconds: 0.4 };

const THREAD = 'thread';
const AGAIN = 'thread again';
const PROCESS = 'process';
const NAMES = [THREAD, PROCESS, AGAIN];
/** Of a process host, against a thread host. */
const LEAST_EVENTS = 0.6;
const MOST_P50 = 2;

export const processes: Bench = {
  name: 'processes',
  about: 'a bot host in a process beside one in a thread: events a second, commands, memory',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const events = await runEvents(plan, progress);
  const { commands, memoryMb } = await runCommands(plan, progress);
  const metrics = [...eventMetrics(events), ...commandMetrics(commands, memoryMb)];
  return {
    metrics,
    tables: [
      tableOf(events, commands, plan),
      metricTable('processes: a process host ÷ a thread host', metrics, [
        'Noise floor: the thread host ÷ a second one, measured in the same rounds.',
        'private: what one process with one idle bot has for itself (smaps_rollup).',
      ]),
    ],
    measurements: {
      events: Object.fromEntries(events),
      commands: Object.fromEntries(commands),
    },
  };
}

function isolationOf(name: string): 'thread' | 'process' {
  return name === PROCESS ? 'process' : 'thread';
}

async function runEvents(plan: TimedPlan, progress: Progress): Promise<Measurements<Ingested>> {
  const feeds: DroverFeed[] = [];
  const swarm = await Swarm.start(1);
  try {
    for (const name of NAMES) {
      progress.step(`processes: starting the service, ${name}`);
      const hosts = { count: 1, bot_lines_per_second: 0, isolation: isolationOf(name) };
      feeds.push(await droverFeed(name, { hosts }));
    }
    const contenders = feeds.map((feed) => serviceContender(feed.name, feed, swarm, 0, plan));
    return await runRounds('processes, events', contenders, plan.rounds, progress);
  } finally {
    await swarm.stop();
    for (const feed of feeds) await feed.close();
  }
}

async function runCommands(
  plan: TimedPlan,
  progress: Progress,
): Promise<{ commands: Measurements<Requests>; memoryMb: number }> {
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  const hosts: ServiceHost[] = [];
  try {
    for (const name of NAMES) {
      progress.step(`processes: starting a service with one bot, ${name}`);
      const host = await ServiceHost.start({ hosts: { count: 1, isolation: isolationOf(name) } });
      hosts.push(host);
      await createBots(host, 0, 1);
      await host.untilReady(1);
    }
    const memoryMb = privateMb(hosts[NAMES.indexOf(PROCESS)]?.server.pid ?? 0);
    const contenders = hosts.map(({ server, token }, at) => {
      const target = { url: server.url, token, wrongPin: '', botsBytes: 0 };
      return { ...contenderOf(server, target, ECHO_ALONE, plan, load), name: NAMES[at] ?? '' };
    });
    const commands = await runRounds('processes, commands', contenders, plan.rounds, progress);
    return { commands, memoryMb };
  } finally {
    for (const host of hosts) await host.stop();
    await load.stop();
  }
}

/** What the only child process of a process has for itself. @throws Error when it has none, or where there is no /proc. */
function privateMb(parent: number): number {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const [, of] = /^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
      if (Number(of) !== parent) continue;
    } catch {
      // It has ended meanwhile.
      continue;
    }
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    const kilobytes = [...rollup.matchAll(/^Private_(?:Clean|Dirty):\s*(\d+) kB$/gm)];
    return kilobytes.reduce((sum, [, kb]) => sum + Number(kb), 0) / 1000;
  }
  throw new Error(`process ${parent} has no child process`);
}

function eventMetrics(measured: Measurements<Ingested>): Metric[] {
  const rates = (name: string) => series(measured, name, ({ eventsPerS }) => eventsPerS);
  const thread = rates(THREAD);
  return [
    ratioMetric({
      id: 'events/process',
      subject: rates(PROCESS),
      control: thread,
      noise: { first: thread, again: rates(AGAIN) },
      better: 'more',
      target: { min: LEAST_EVENTS },
    }),
  ];
}

function commandMetrics(measured: Measurements<Requests>, memoryMb: number): Metric[] {
  const p50 = (name: string) => series(measured, name, ({ load }) => load.p50Ms);
  const thread = p50(THREAD);
  return [
    factorMetric({
      id: 'command/p50',
      subject: p50(PROCESS),
      control: thread,
      noise: { first: thread, again: p50(AGAIN) },
      target: { max: MOST_P50 },
    }),
    { id: 'idle/private', value: memoryMb, unit: 'MB' },
  ];
}

function tableOf(
  events: Measurements<Ingested>,
  commands: Measurements<Requests>,
  plan: TimedPlan,
): Table {
  return {
    title: `processes: one bot flat out, and commands one at a time (${plan.rounds} rounds of ${plan.seconds} s)`,
    header: ['medians', 'events/s', 'skipped/s', 'commands/s', 'p50 ms', 'p99 ms'],
    rows: NAMES.map((name) => {
      const event = (pick: (one: Ingested) => number) => median(series(events, name, pick));
      const command = (pick: (one: Requests) => number) => median(series(commands, name, pick));
      return [
        name,
        whole(event(({ eventsPerS }) => eventsPerS)),
        whole(event(({ skippedPerS }) => skippedPerS)),
        whole(command(({ requestsPerS }) => requestsPerS)),
        number(command(({ load }) => load.p50Ms)),
        number(command(({ load }) => load.p99Ms)),
      ];
    }),
    notes: ['The line limit per bot is off; skipped lines exceed the bound of bytes in flight.'],
  };
}
