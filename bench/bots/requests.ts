// Requests to a host with 10,000 bots: /invoke and the list.

import { type BenchResult, type Metric, medianMetric, ratioMetric } from '../harness/bench.js';
import { benchScript } from '../harness/paths.js';
import type { Progress } from '../harness/progress.js';
import { type Measurements, runRounds, series } from '../harness/rounds.js';
import { Server } from '../harness/server.js';
import type { Table } from '../harness/table.js';
import { whole } from '../harness/table.js';
import { contenderOf, type Load, type Measurement, requestTable } from '../http/measurement.js';
import { LIST, type Route, sizeOfList } from '../http/routes.js';
import { BARE, BARE_AGAIN, createBots, ServiceHost, SUBJECT, startBare } from './hosts.js';
import { INVOCATIONS } from './invoke.js';
import { BOTS, type Plan, ratioToBare } from './part.js';

/** Goals for a bot's response: CPU per call on many connections, and the median of one at a time. */
const LEAST_CPU = 0.6;
const LEAST_P50 = 0.5;
const UWS = 'uws-bare';
const UWS_AGAIN = 'uws-bare again';

/** The same list as in the HTTP bench, but longer. */
const LONG_LIST: Route = { ...LIST, id: 'list', title: `GET /api/bots, ${whole(BOTS)} bots` };

/** /invoke and the list, on one service with all bots. */
export async function runRequests(
  plan: Plan,
  load: Load,
  progress: Progress,
): Promise<BenchResult> {
  progress.step(`bots: starting the servers, ${whole(BOTS)} bots`);
  const stops: (() => Promise<unknown>)[] = [];
  const tables: Table[] = [];
  const measurements: Record<string, unknown> = {};
  const measureRoute = async (
    route: Route,
    hosts: readonly { server: Server; token: string }[],
    botsBytes = 0,
  ): Promise<Measurements<Measurement>> => {
    const contenders = hosts.map(({ server, token }) => {
      const target = { url: server.url, token, wrongPin: '', botsBytes };
      return contenderOf(server, target, route, plan, load);
    });
    const measured = await runRounds(`bots, ${route.id}`, contenders, plan.rounds, progress);
    tables.push(requestTable('bots', route, plan, measured));
    measurements[route.id] = Object.fromEntries(measured);
    return measured;
  };
  // Before the commands, which may change the length of the list.
  const measureList = async ({ server, token }: ServiceHost): Promise<Metric> => {
    const bytes = await sizeOfList({ url: server.url, token, wrongPin: '', botsBytes: 0 }, BOTS);
    const args = ['--token', token, '--bots-bytes', String(bytes)];
    const hosts = [{ server, token }];
    for (const name of [UWS, UWS_AGAIN]) {
      const script = benchScript('controls/uws-bare.js');
      const control = await Server.start({ name, script, args, linked: true });
      stops.push(() => control.stop());
      hosts.push({ server: control, token });
    }
    return listMetric(await measureRoute(LONG_LIST, hosts, bytes));
  };
  try {
    const service = await ServiceHost.start();
    stops.push(() => service.stop());
    await createBots(service, 0, BOTS);
    await service.untilReady(BOTS);
    const metrics = [await measureList(service)];
    const controls = [await startBare(BARE), await startBare(BARE_AGAIN)];
    stops.push(...controls.map((control) => () => control.stop()));
    for (const route of INVOCATIONS) {
      const measured = await measureRoute(route, [service, ...controls]);
      metrics.push(...requestMetrics(route.id, measured));
    }
    return { metrics, tables, measurements };
  } finally {
    for (const stop of stops) await stop();
  }
}

function cpuOf(measured: Measurements<Measurement>): (name: string) => number[] {
  return (name) => series(measured, name, ({ cpuUsPerRequest }) => cpuUsPerRequest);
}

function listMetric(measured: Measurements<Measurement>): Metric {
  const cpu = cpuOf(measured);
  const bare = cpu(UWS);
  return ratioMetric({
    id: `list/cpu/${UWS}`,
    subject: cpu(SUBJECT),
    control: bare,
    noise: { first: bare, again: cpu(UWS_AGAIN) },
    better: 'less',
  });
}

function requestMetrics(id: string, measured: Measurements<Measurement>): Metric[] {
  const of = (pick: (one: Measurement) => number) => (name: string) => series(measured, name, pick);
  const rate = of(({ requestsPerS }) => requestsPerS);
  const p50 = of(({ load }) => load.p50Ms);
  const p99 = of(({ load }) => load.p99Ms);
  const leastP50 = id === 'echo-alone' ? { min: LEAST_P50 } : undefined;
  const leastCpu = id === 'echo' ? { min: LEAST_CPU } : undefined;
  return [
    medianMetric(`${id}/rate`, '/s', rate(SUBJECT)),
    ratioToBare(`${id}/rate/${BARE}`, 'more', rate),
    ratioToBare(`${id}/p99/${BARE}`, 'less', p99),
    ratioToBare(`${id}/p50/${BARE}`, 'less', p50, leastP50),
    ratioToBare(`${id}/cpu/${BARE}`, 'less', cpuOf(measured), leastCpu),
  ];
}
