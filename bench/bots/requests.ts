// Requests to a host with 10,000 bots: /invoke and the list.

import { type Metric, ratioMetric } from '../harness/bench.js';
import { benchScript } from '../harness/paths.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import { Server } from '../harness/server.js';
import { median, summarize } from '../harness/stats.js';
import { number, percent, type Table, whole } from '../harness/table.js';
import { contenderOf, type Load, type Measurement } from '../http/measurement.js';
import type { Route } from '../http/routes.js';
import { BARE, BARE_AGAIN, type BotsHost, ServiceHost, SUBJECT, startBare } from './hosts.js';
import { INVOCATIONS } from './invoke.js';
import { type ListTimes, listContender, listRoute, timeList } from './listing.js';
import { BOTS, type Part, type Plan, ratioToBare } from './part.js';

/** Goals for a bot's response: CPU per call on many connections, and the median of one at a time. */
const LEAST_CPU = 0.6;
const LEAST_P50 = 0.5;

/** /invoke and the list, on one service with all bots and the demo world. */
export async function runRequests(plan: Plan, load: Load, progress: Progress): Promise<Part> {
  progress.step(`bots: starting the servers, ${whole(BOTS)} bots`);
  const hosts: BotsHost[] = [];
  const part: Part = { metrics: [], tables: [], measurements: {} };
  try {
    const service = await ServiceHost.start(true);
    hosts.push(service, await startBare(BARE), await startBare(BARE_AGAIN));
    await service.api.createBots(0, BOTS, 0);
    for (const route of INVOCATIONS) {
      const contenders = hosts.map(({ server, token }) =>
        contenderOf(server, targetOf(server, token), route, plan, load),
      );
      const measured = await runRounds(`bots, ${route.id}`, contenders, plan.rounds, progress);
      part.tables.push(requestTable(route, plan, measured));
      part.metrics.push(...requestMetrics(route.id, measured));
      part.measurements[route.id] = Object.fromEntries(measured);
    }
  } finally {
    for (const host of hosts) await host.stop();
  }
  const list = await runList(plan, load, progress);
  return {
    metrics: [...part.metrics, ...list.metrics],
    tables: [...part.tables, ...list.tables],
    measurements: { ...part.measurements, ...list.measurements },
  };
}

/** Without the demo world, whose bots change the list constantly. */
async function runList(plan: Plan, load: Load, progress: Progress): Promise<Part> {
  const service = await ServiceHost.start();
  const controls: Server[] = [];
  try {
    progress.step('bots: timing the list');
    await service.api.createBots(0, BOTS, 0);
    await service.untilReady(BOTS);
    const before = service.server.memory();
    const times = await timeList(service);
    const args = ['--token', service.token, '--bots-bytes', String(times.bytes)];
    for (const name of [UWS, UWS_AGAIN]) {
      const script = benchScript('controls/uws-bare.js');
      controls.push(await Server.start({ name, script, args, linked: true }));
    }
    const route = listRoute(BOTS);
    const contenders = [service.server, ...controls].map((server) =>
      listContender(server, service.token, route, times.bytes, plan, load),
    );
    const measured = await runRounds('bots, list', contenders, plan.rounds, progress);
    const after = service.server.memory();
    const grownMb = Math.max(0, after.peakRss - before.rss) / 1e6;
    return {
      metrics: listMetrics(times, grownMb, measured),
      tables: [requestTable(route, plan, measured, [SUBJECT, UWS, UWS_AGAIN])],
      measurements: { list: Object.fromEntries(measured), listTimes: times },
    };
  } finally {
    await service.stop();
    for (const control of controls) await control.stop();
  }
}

const UWS = 'uws-bare';
const UWS_AGAIN = 'uws-bare again';

function listMetrics(
  times: ListTimes,
  grownMb: number,
  measured: Measurements<Measurement>,
): Metric[] {
  const cpu = (name: string) => series(measured, name, ({ cpuUsPerRequest }) => cpuUsPerRequest);
  const bare = cpu(UWS);
  return [
    { id: 'list/unchanged', value: times.unchangedMs, unit: 'ms' },
    { id: 'list/changed', value: times.changedMs, unit: 'ms' },
    { id: 'list/memory', value: grownMb, unit: 'MB' },
    ratioMetric({
      id: `list/cpu/${UWS}`,
      subject: cpu(SUBJECT),
      control: bare,
      noise: { first: bare, again: cpu(UWS_AGAIN) },
      better: 'less',
    }),
  ];
}

function requestMetrics(id: string, measured: Measurements<Measurement>): Metric[] {
  const of = (pick: (one: Measurement) => number) => (name: string) => series(measured, name, pick);
  const rate = of(({ requestsPerS }) => requestsPerS);
  const spread = summarize(rate(SUBJECT));
  return [
    { id: `${id}/rate`, value: spread.median, unit: '/s', spread },
    ratioToBare(`${id}/rate/${BARE}`, 'more', rate),
    ratioToBare(
      `${id}/p99/${BARE}`,
      'less',
      of(({ load }) => load.p99Ms),
    ),
    ratioToBare(
      `${id}/p50/${BARE}`,
      'less',
      of(({ load }) => load.p50Ms),
      id === 'echo-alone' ? { min: LEAST_P50 } : undefined,
    ),
    ratioToBare(
      `${id}/cpu/${BARE}`,
      'less',
      of(({ cpuUsPerRequest }) => cpuUsPerRequest),
      id === 'echo' ? { min: LEAST_CPU } : undefined,
    ),
  ];
}

function requestTable(
  route: Route,
  plan: Plan,
  measured: Measurements<Measurement>,
  names = [SUBJECT, BARE, BARE_AGAIN],
): Table {
  const middle = (name: string, pick: (one: Measurement) => number) =>
    median(series(measured, name, pick));
  return {
    title: `bots: ${route.title} (${plan.rounds} rounds of ${plan.seconds} s, ${route.connections} at a time)`,
    header: [
      'medians',
      'per s',
      'p50 ms',
      'p99 ms',
      'CPU µs each',
      'server CPU',
      'server waits',
      'load CPU',
    ],
    rows: names.map((name) => [
      name,
      whole(middle(name, ({ requestsPerS }) => requestsPerS)),
      number(middle(name, ({ load }) => load.p50Ms)),
      number(middle(name, ({ load }) => load.p99Ms)),
      number(middle(name, ({ cpuUsPerRequest }) => cpuUsPerRequest)),
      percent(middle(name, ({ serverCores }) => serverCores)),
      percent(middle(name, ({ serverWait }) => serverWait)),
      percent(middle(name, ({ load }) => load.ownCpu)),
    ]),
    notes: route.note === undefined ? [] : [route.note],
  };
}

function targetOf(server: Server, token: string) {
  return { url: server.url, token, wrongPin: '', botsBytes: 0 };
}
