// One measurement of the HTTP bench: load on one server, and its cost.

import { contenderTable, medianOf, shareOf, type TimedPlan } from '../harness/bench.js';
import type { LoadProcess } from '../harness/load.js';
import { type Contender, type Measurements, timedContender } from '../harness/rounds.js';
import type { Server } from '../harness/server.js';
import { percent, type Table, whole } from '../harness/table.js';
import { generatorAtItsLimit, type HttpLoadJob, type HttpLoadResult } from '../load/http-load.js';
import { headersOf, type Route, type Target, verify } from './routes.js';

/** A job takes slightly longer than its duration; autocannon's request timeout is 10 s. */
const ANSWER_AFTER_MS = 15_000;
/** Wrong PINs that can take a token of the bucket during one measurement; it is empty at the start. */
const LATE_ATTEMPTS = 5;

export type Load = LoadProcess<HttpLoadJob, HttpLoadResult>;

/** One period of load on one server. */
export interface Measurement {
  requestsPerS: number;
  /** CPU time of the server's process, in µs. */
  cpuUsPerRequest: number;
  serverCores: number;
  /** Share of the time in which a thread of the server was ready to run but had no core. */
  serverWait: number;
  loadAtItsLimit: boolean;
  load: HttpLoadResult;
}

/** A contender in the rounds of a route. */
export function contenderOf(
  server: Server,
  target: Target,
  route: Route,
  plan: { seconds: number; warmUpSeconds: number },
  load: Load,
): Contender<Measurement> {
  const measure = async (durationS: number) => {
    await verify(server.name, route, target);
    const body = route.body?.(target);
    const job: HttpLoadJob = {
      url: target.url + route.path,
      method: route.method,
      headers: headersOf(route, target),
      connections: route.connections,
      durationS,
      ...(body === undefined ? {} : { body }),
    };
    const { result, use } = await server.cpuDuring(() => runJob(load, job));
    assertAnswered(server.name, route, result);
    return {
      requestsPerS: result.requests / result.wallS,
      cpuUsPerRequest: use.cpuNs / 1000 / result.requests,
      serverCores: use.cpuNs / use.wallNs,
      serverWait: use.waitedNs / use.wallNs,
      loadAtItsLimit: generatorAtItsLimit(result),
      load: result,
    };
  };
  return timedContender(server.name, plan, measure);
}

function runJob(load: Load, job: HttpLoadJob): Promise<HttpLoadResult> {
  return load.run(job, job.durationS * 1000 + ANSWER_AFTER_MS);
}

/** GET requests that are all answered 200. @throws Error if one is not. */
export async function runGets(
  what: string,
  load: Load,
  job: Omit<HttpLoadJob, 'method'>,
): Promise<HttpLoadResult> {
  const result = await runJob(load, { ...job, method: 'GET' });
  const ok = result.statuses['200'] ?? 0;
  if (result.errors > 0 || ok === 0 || ok !== result.requests) {
    throw new Error(
      `${what}: ${result.errors} errors, ${ok} of ${result.requests} answers were 200`,
    );
  }
  return result;
}

/** The table of one route, one row per contender. */
export function requestTable(
  bench: string,
  route: Route,
  { rounds, seconds }: TimedPlan,
  measured: Measurements<Measurement>,
): Table {
  const notes = route.note === undefined ? [] : [route.note];
  if ([...measured.values()].flat().some((one) => one.loadAtItsLimit)) {
    notes.push('Where the load is at its limit, requests/s is its rate, not the server’s.');
  }
  return contenderTable(
    `${bench}: ${route.title} (${rounds} rounds of ${seconds} s, ${route.connections} connections)`,
    measured,
    [
      ['requests/s', medianOf((one) => one.requestsPerS, whole)],
      ['p50 ms', medianOf(({ load }) => load.p50Ms)],
      ['p99 ms', medianOf(({ load }) => load.p99Ms)],
      ['CPU µs/request', medianOf((one) => one.cpuUsPerRequest)],
      ['server CPU', medianOf((one) => one.serverCores, percent)],
      ['server waits', medianOf((one) => one.serverWait, percent)],
      ['load CPU', medianOf(({ load }) => load.ownCpu, percent)],
      ['load at limit', shareOf((one) => one.loadAtItsLimit)],
    ],
    notes,
  );
}

/** @throws Error if a request failed or got an unexpected status. */
function assertAnswered(name: string, route: Route, result: HttpLoadResult): void {
  const where = `${name}, ${route.title}`;
  if (result.errors > 0) throw new Error(`${where}: ${result.errors} requests had no answer`);
  if (result.requests === 0) throw new Error(`${where}: nothing was answered`);
  for (const [status, count] of Object.entries(result.statuses)) {
    const isLead = Number(status) === route.lead?.status;
    if (!route.statuses.includes(Number(status)) || (isLead && count > LATE_ATTEMPTS)) {
      throw new Error(`${where}: ${count} of ${result.requests} answers had status ${status}`);
    }
  }
}
