// The isolation bench: latency of /health during a fan-out.

import { BATCHED, MESSAGE_BYTES, UNBATCHED } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  type Metric,
  metricTable,
  planOf,
} from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, series } from './harness/rounds.js';
import { median, summarize } from './harness/stats.js';
import { number, percent, type Table, whole } from './harness/table.js';
import { generatorAtItsLimit, type HttpLoadJob, type HttpLoadResult } from './load/http-load.js';
import {
  BARE,
  closeFeeds,
  controlFeed,
  droverFeed,
  type Feed,
  SUBJECT,
  startFeeds,
} from './streams/feeds.js';
import {
  groupOf,
  measureStreams,
  type StreamMeasurement,
  type StreamWork,
} from './streams/measurement.js';
import { MixedSwarm } from './streams/mixed-swarm.js';

interface Plan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
  /** Also with 10,000 streams, and beside a bare loop. */
  all: boolean;
}

const FULL: Plan = { rounds: 5, seconds: 4, warmUpSeconds: 1, all: true };
const SHORT: Plan = { rounds: 3, seconds: 0.7, warmUpSeconds: 0.4, all: false };

const CONNECTIONS = 10;
const MOST_MS = 5;
const ANSWER_AFTER_MS = 15_000;
const LARGE_STREAMS = 10_000;
const LARGE_RATE = 1_000;

type Load = LoadProcess<HttpLoadJob, HttpLoadResult>;
type Work = Omit<StreamWork, 'seconds' | 'warmUpSeconds'>;

/** One series of requests, with or without streams. */
interface Measurement {
  http: HttpLoadResult;
  streams: StreamMeasurement | undefined;
}

export const isolation: Bench = {
  name: 'isolation',
  about: '/health while events fan out to 1,000 and 10,000 streams',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    const measured = new Map(await runSmall(load, plan, progress));
    if (plan.all) {
      for (const [name, all] of await runLarge(load, plan, progress)) measured.set(name, all);
    }
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('isolation: p99 of /health on the service', metrics, [
          'no-events is what the machine and the generator add. The full form also measures a bare loop.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await load.stop();
  }
}

async function runSmall(
  load: Load,
  plan: Plan,
  progress: Progress,
): Promise<Measurements<Measurement>> {
  progress.step('isolation: starting the servers');
  const feeds = await startFeeds(plan.all ? [droverFeed, () => controlFeed(BARE)] : [droverFeed]);
  const swarm = await MixedSwarm.start(feeds.length);
  try {
    for (const feed of feeds) await swarm.open(groupOf(feed), feed.target, BATCHED.streams);
    const contenders = feeds.flatMap((feed) => [
      contender(`${feed.name}, no events`, feed, swarm, undefined, load, plan),
      contender(`${feed.name}, batched`, feed, swarm, BATCHED, load, plan),
      contender(`${feed.name}, unbatched`, feed, swarm, UNBATCHED, load, plan),
    ]);
    return await runRounds('isolation', contenders, plan.rounds, progress);
  } finally {
    await swarm.stop();
    await closeFeeds(feeds);
  }
}

async function runLarge(
  load: Load,
  plan: Plan,
  progress: Progress,
): Promise<Measurements<Measurement>> {
  progress.step(`isolation: opening ${whole(LARGE_STREAMS)} streams`);
  const feed = await droverFeed();
  const swarm = await MixedSwarm.start(1);
  try {
    await swarm.open(groupOf(feed), feed.target, LARGE_STREAMS);
    const work: Work = {
      streams: LARGE_STREAMS,
      load: { rate: LARGE_RATE, messageBytes: MESSAGE_BYTES, form: 'batched' },
      sample: 3,
    };
    const contenders = [contender(`${SUBJECT}, large`, feed, swarm, work, load, plan)];
    return await runRounds('isolation', contenders, plan.rounds, progress);
  } finally {
    await swarm.stop();
    await feed.close();
  }
}

function contender(
  name: string,
  feed: Feed,
  swarm: MixedSwarm,
  work: Work | undefined,
  load: Load,
  { seconds, warmUpSeconds }: Plan,
): Contender<Measurement> {
  const ask = async (durationS: number) => {
    const job: HttpLoadJob = {
      url: `${feed.server.url}/health`,
      method: 'GET',
      headers: {},
      connections: CONNECTIONS,
      durationS,
    };
    const http = await load.run(job, durationS * 1000 + ANSWER_AFTER_MS);
    const ok = http.statuses['200'] ?? 0;
    if (http.errors > 0 || ok === 0 || ok !== http.requests) {
      throw new Error(`${name}: ${http.errors} errors, ${ok} of ${http.requests} answers were 200`);
    }
    return http;
  };
  const measure = async (durationS: number): Promise<Measurement> => {
    if (work === undefined) return { http: await ask(durationS), streams: undefined };
    const whole = { ...work, seconds: durationS, warmUpSeconds: durationS };
    const { meanwhile, ...streams } = await measureStreams(feed, swarm, whole, durationS, () =>
      ask(durationS),
    );
    if (meanwhile === undefined) throw new Error('no requests were sent meanwhile');
    return { http: meanwhile, streams };
  };
  return {
    name,
    warmUp: async () => {
      await measure(warmUpSeconds);
    },
    measure: () => measure(seconds),
  };
}

function metricsOf(measured: Measurements<Measurement>): Metric[] {
  return [...measured.keys()]
    .filter((name) => name.startsWith(SUBJECT))
    .map((name) => {
      const spread = summarize(series(measured, name, ({ http }) => http.p99Ms));
      return {
        id: `p99/${name.slice(SUBJECT.length + 2).replace(' ', '-')}`,
        value: spread.median,
        unit: 'ms',
        spread,
        ...(name.endsWith('no events') ? {} : { target: { max: MOST_MS } }),
      };
    });
}

function tableOf(measured: Measurements<Measurement>, plan: Plan): Table {
  const rows = [...measured].map(([name, all]) => {
    const middle = (pick: (one: Measurement) => number) => median(series(measured, name, pick));
    const limited = all.filter(({ http }) => generatorAtItsLimit(http)).length;
    const streams = all.every((one) => one.streams !== undefined);
    const ofStreams = (pick: (one: StreamMeasurement) => number) =>
      middle((one) => (one.streams ? pick(one.streams) : 0));
    return [
      name,
      whole(middle(({ http }) => http.requests / http.wallS)),
      number(middle(({ http }) => http.p50Ms)),
      number(middle(({ http }) => http.p99Ms)),
      number(middle(({ http }) => http.maxMs)),
      percent(middle(({ http }) => http.ownCpu)),
      percent(middle(({ http }) => http.ownWait)),
      `${limited} of ${all.length}`,
      streams ? percent(ofStreams((one) => one.shareOfOffer)) : '',
      streams ? number(ofStreams((one) => one.p99Ms)) : '',
      streams ? percent(ofStreams((one) => one.serverCores)) : '',
      streams ? percent(ofStreams((one) => one.serverWait)) : '',
    ];
  });
  return {
    title: `isolation: GET /health, ${CONNECTIONS} connections, beside a fan-out (${plan.rounds} rounds of ${plan.seconds} s)`,
    header: [
      'medians',
      'requests/s',
      'p50 ms',
      'p99 ms',
      'max ms',
      'autocannon CPU',
      'it waits',
      'at limit',
      'frames of offer',
      'frame p99 ms',
      'server CPU',
      'server waits',
    ],
    rows,
    notes: [
      'Each connection sends the next request right after a response: autocannon can only hold a rate in bursts of one second.',
    ],
  };
}
