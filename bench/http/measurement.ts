// One measurement of the HTTP bench: load on one server, and its cost.

import type { LoadProcess } from '../harness/load.js';
import type { Contender } from '../harness/rounds.js';
import type { Server } from '../harness/server.js';
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
    const { result, use } = await server.cpuDuring(() =>
      load.run(job, durationS * 1000 + ANSWER_AFTER_MS),
    );
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
  return {
    name: server.name,
    warmUp: async () => {
      await measure(plan.warmUpSeconds);
    },
    measure: () => measure(plan.seconds),
  };
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
