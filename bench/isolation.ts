// The isolation bench: latency of /health during a fan-out.

import { BATCHED, UNBATCHED } from './fanout/loads.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  contenderTable,
  type Metric,
  medianMetric,
  medianOf,
  metricTable,
  planOf,
  shareOf,
  type TimedPlan,
} from './harness/bench.js';
import { LoadProcess } from './harness/load.js';
import { benchScript } from './harness/paths.js';
import type { Progress } from './harness/progress.js';
import { type Contender, type Measurements, runRounds, timedContender } from './harness/rounds.js';
import { percent, type Table, whole } from './harness/table.js';
import { type Load, runGets } from './http/measurement.js';
import { generatorAtItsLimit, type HttpLoadResult } from './load/http-load.js';
import { droverFeed, type Feed, SUBJECT } from './streams/feeds.js';
import {
  groupOf,
  measureStreams,
  type StreamMeasurement,
  type StreamWork,
} from './streams/measurement.js';
import { MixedSwarm } from './streams/mixed-swarm.js';

const FULL: TimedPlan = { rounds: 5, seconds: 4, warmUpSeconds: 1 };
const SHORT: TimedPlan = { rounds: 3, seconds: 0.7, warmUpSeconds: 0.4 };

const CONNECTIONS = 10;
const MOST_MS = 5;

type Work = Omit<StreamWork, 'seconds' | 'warmUpSeconds'>;

/** One series of requests, with or without streams. */
interface Measurement {
  http: HttpLoadResult;
  streams: StreamMeasurement | undefined;
}

export const isolation: Bench = {
  name: 'isolation',
  about: '/health while events fan out to 1,000 streams',
  run,
};

async function run(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const plan = planOf(options, FULL, SHORT);
  const load: Load = await LoadProcess.start('autocannon', benchScript('load/autocannon.js'));
  try {
    const measured = await measureAll(load, plan, progress);
    const metrics = metricsOf(measured);
    return {
      metrics,
      tables: [
        tableOf(measured, plan),
        metricTable('isolation: p99 of /health on the service', metrics, [
          'no-events is what the machine and the generator add.',
        ]),
      ],
      measurements: Object.fromEntries(measured),
    };
  } finally {
    await load.stop();
  }
}

async function measureAll(
  load: Load,
  plan: TimedPlan,
  progress: Progress,
): Promise<Measurements<Measurement>> {
  progress.step('isolation: starting the service');
  const feed = await droverFeed();
  const swarm = await MixedSwarm.start(1);
  try {
    await swarm.open(groupOf(feed), feed.target, BATCHED.streams);
    const contenders = [
      contender(`${SUBJECT}, no events`, feed, swarm, undefined, load, plan),
      contender(`${SUBJECT}, batched`, feed, swarm, BATCHED, load, plan),
      contender(`${SUBJECT}, unbatched`, feed, swarm, UNBATCHED, load, plan),
    ];
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
  plan: TimedPlan,
): Contender<Measurement> {
  const url = `${feed.server.url}/health`;
  const ask = (durationS: number) =>
    runGets(name, load, { url, headers: {}, connections: CONNECTIONS, durationS });
  const measure = async (durationS: number): Promise<Measurement> => {
    if (work === undefined) return { http: await ask(durationS), streams: undefined };
    const whole = { ...work, seconds: durationS, warmUpSeconds: durationS };
    const { meanwhile, ...streams } = await measureStreams(feed, swarm, whole, durationS, () =>
      ask(durationS),
    );
    if (meanwhile === undefined) throw new Error('no requests were sent meanwhile');
    return { http: meanwhile, streams };
  };
  return timedContender(name, plan, measure);
}

function metricsOf(measured: Measurements<Measurement>): Metric[] {
  return [...measured].map(([name, all]) =>
    medianMetric(
      `p99/${name.slice(SUBJECT.length + 2).replace(' ', '-')}`,
      'ms',
      all.map(({ http }) => http.p99Ms),
      name.endsWith('no events') ? undefined : { max: MOST_MS },
    ),
  );
}

function tableOf(measured: Measurements<Measurement>, plan: TimedPlan): Table {
  return contenderTable(
    `isolation: GET /health, ${CONNECTIONS} connections, beside a fan-out (${plan.rounds} rounds of ${plan.seconds} s)`,
    measured,
    [
      ['requests/s', medianOf(({ http }) => http.requests / http.wallS, whole)],
      ['p50 ms', medianOf(({ http }) => http.p50Ms)],
      ['p99 ms', medianOf(({ http }) => http.p99Ms)],
      ['max ms', medianOf(({ http }) => http.maxMs)],
      ['autocannon CPU', medianOf(({ http }) => http.ownCpu, percent)],
      ['it waits', medianOf(({ http }) => http.ownWait, percent)],
      ['at limit', shareOf(({ http }) => generatorAtItsLimit(http))],
      ['frames of offer', medianOf(({ streams }) => streams?.shareOfOffer, percent)],
      ['frame p99 ms', medianOf(({ streams }) => streams?.p99Ms)],
      ['server CPU', medianOf(({ streams }) => streams?.serverCores, percent)],
      ['server waits', medianOf(({ streams }) => streams?.serverWait, percent)],
    ],
    [
      'Each connection sends the next request right after a response: autocannon can only hold a rate in bursts of one second.',
    ],
  );
}
