// Runs in the bench process. Owns the bots bench: bots per host, memory per bot, start rate, round trips of /invoke and
// the list of bots, beside a control that hosts bots with no service around them.

import { type CrowdMeasurement, type CrowdPlan, measureCrowd } from './bots/crowd.js';
import { BARE, BARE_AGAIN, type BotsHost, ServiceHost, SUBJECT, startBare } from './bots/hosts.js';
import { INVOCATIONS } from './bots/invoke.js';
import { type ListTimes, listContender, listRoute, timeList } from './bots/listing.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Figure,
  figureTable,
  ratioFigure,
} from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { Server } from './harness/server.js';
import { median, summarize } from './harness/stats.js';
import { number, percent, type Table, whole } from './harness/table.js';
import { contenderOf, type Load, type Measurement } from './http/measurement.js';
import type { Route } from './http/routes.js';

const BOTS = 10_000;

interface Plan {
  /** Rounds of load on servers that are up. */
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Rounds of crowds, each in a fresh process. */
  crowdRounds: number;
  idleMs: number;
  /** Whether a crowd is also measured with a connection for each bot. */
  connected: boolean;
}

const FULL: Plan = {
  rounds: 7,
  seconds: 1.5,
  warmUpSeconds: 1,
  crowdRounds: 5,
  idleMs: 5_000,
  connected: true,
};
const SHORT: Plan = {
  rounds: 3,
  seconds: 0.4,
  warmUpSeconds: 0.4,
  crowdRounds: 1,
  idleMs: 2_000,
  connected: false,
};

export const bots: Bench = {
  name: 'bots',
  about: '10,000 bots on one host: memory, start rate, /invoke and the list of bots',
  run,
};

/** What one part of the bench contributes. */
interface Part {
  figures: Figure[];
  tables: Table[];
  measurements: Record<string, unknown>;
}

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const form = options.short ? SHORT : FULL;
  const { rounds = form.rounds, rounds: crowdRounds = form.crowdRounds } = options;
  const plan = { ...form, rounds, crowdRounds };
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    const parts = [
      await runCrowd('idle', false, plan, progress),
      ...(plan.connected ? [await runCrowd('connected', true, plan, progress)] : []),
      await runRequests(plan, load, progress),
    ];
    const figures = parts.flatMap((part) => part.figures);
    const summary = figureTable(`bots: ${SUBJECT} beside ${BARE}`, figures, [
      `…/${BARE}: above 1 ${SUBJECT} is the better one: less memory, CPU or time, more starts or round trips.`,
      'Noise floor: the control ÷ itself, two processes, measured in the same rounds.',
    ]);
    return {
      figures,
      tables: [...parts.flatMap((part) => part.tables), summary],
      measurements: Object.assign({}, ...parts.map((part) => part.measurements)),
    };
  } finally {
    await load.stop();
  }
}

async function runCrowd(
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
    figures: crowdFigures(id, measured),
    tables: [crowdTable(id, measured, plan)],
    measurements: { [id]: Object.fromEntries(measured) },
  };
}

function crowdContender(
  name: string,
  start: () => Promise<BotsHost>,
  plan: CrowdPlan,
): Contender<CrowdMeasurement> {
  // Each measurement is of a fresh process: memory that was used once is not given back.
  return {
    name,
    warmUp: async () => {},
    measure: async () => measureCrowd(await start(), plan),
  };
}

function crowdFigures(id: string, measured: Measurements<CrowdMeasurement>): Figure[] {
  const of = (pick: (one: CrowdMeasurement) => number) => (name: string) =>
    series(measured, name, pick);
  const ratio = (what: string, better: 'more' | 'less', pick: (one: CrowdMeasurement) => number) =>
    ratioToBare(`${id}/${what}/${BARE}`, better, of(pick));
  const plain = (what: string, unit: string, values: number[]): Figure => {
    const spread = summarize(values);
    return { id: `${id}/${what}`, value: spread.median, unit, spread };
  };
  const subject = (pick: (one: CrowdMeasurement) => number) => of(pick)(SUBJECT);
  const perHost = subject(({ hostThreads }) => BOTS / hostThreads);
  return [
    { ...plain('bots-per-host', 'bots', perHost), target: { min: BOTS } },
    plain(
      'memory',
      'KB/bot',
      subject(({ pss }) => pss / 1e3),
    ),
    ratio('memory', 'less', ({ pss }) => pss),
    plain(
      'start-rate',
      'bots/s',
      subject(({ startsPerS }) => startsPerS),
    ),
    ratio('start-rate', 'more', ({ startsPerS }) => startsPerS),
    ratio('start-cpu', 'less', ({ cpuUsPerStart }) => cpuUsPerStart),
    plain(
      'restore-rate',
      'bots/s',
      subject(({ restored }) => restored?.perS ?? Number.NaN),
    ),
    plain(
      'idle-cpu',
      '%',
      subject(({ idleCpu }) => idleCpu),
    ),
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
      `The control's bots are objects with what the kind itself asks for; the service also keeps each on disk, on the stream and in its list.`,
      'Before each reading of memory the service fills its ring, so that the ring is not counted to the bots.',
    ],
  };
}

/** /invoke and the list, on one service with all bots and with its demo world. */
async function runRequests(plan: Plan, load: Load, progress: Progress): Promise<Part> {
  progress.step(`bots: starting the servers, ${whole(BOTS)} bots`);
  const hosts: BotsHost[] = [];
  const part: Part = { figures: [], tables: [], measurements: {} };
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
      part.figures.push(...requestFigures(route.id, measured));
      part.measurements[route.id] = Object.fromEntries(measured);
    }
  } finally {
    for (const host of hosts) await host.stop();
  }
  const list = await runList(plan, load, progress);
  return {
    figures: [...part.figures, ...list.figures],
    tables: [...part.tables, ...list.tables],
    measurements: { ...part.measurements, ...list.measurements },
  };
}

/** Without the demo world: its bots change the list all the time. */
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
      figures: listFigures(times, grownMb, measured),
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

function listFigures(
  times: ListTimes,
  grownMb: number,
  measured: Measurements<Measurement>,
): Figure[] {
  const cpu = (name: string) => series(measured, name, ({ cpuUsPerRequest }) => cpuUsPerRequest);
  const bare = cpu(UWS);
  return [
    { id: 'list/unchanged', value: times.unchangedMs, unit: 'ms' },
    { id: 'list/changed', value: times.changedMs, unit: 'ms' },
    { id: 'list/memory', value: grownMb, unit: 'MB' },
    ratioFigure({
      id: `list/cpu/${UWS}`,
      subject: cpu(SUBJECT),
      control: bare,
      noise: { first: bare, again: cpu(UWS_AGAIN) },
      better: 'less',
    }),
  ];
}

function requestFigures(id: string, measured: Measurements<Measurement>): Figure[] {
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
      `${id}/cpu/${BARE}`,
      'less',
      of(({ cpuUsPerRequest }) => cpuUsPerRequest),
    ),
  ];
}

function ratioToBare(
  id: string,
  better: 'more' | 'less',
  values: (name: string) => number[],
): Figure {
  const bare = values(BARE);
  const noise = { first: bare, again: values(BARE_AGAIN) };
  return ratioFigure({ id, subject: values(SUBJECT), control: bare, noise, better });
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
