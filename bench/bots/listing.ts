// The measurement of `GET /api/bots` with many bots.

import type { Contender } from '../harness/rounds.js';
import type { Server } from '../harness/server.js';
import { median } from '../harness/stats.js';
import { contenderOf, type Load, type Measurement } from '../http/measurement.js';
import { LIST, type Route } from '../http/routes.js';
import { botId } from './api.js';
import type { ServiceHost } from './hosts.js';

const REPEATS = 25;

/** The same list as in the HTTP bench, but longer. */
export function listRoute(bots: number): Route {
  return {
    ...LIST,
    id: 'list',
    title: `GET /api/bots, ${bots.toLocaleString('en-US')} bots`,
    fault: ({ status, text }, { botsBytes }) => {
      const bytes = Buffer.byteLength(text);
      return status === 200 && bytes === botsBytes ? undefined : `${bytes} bytes, not ${botsBytes}`;
    },
  };
}

export function listContender(
  server: Server,
  token: string,
  route: Route,
  botsBytes: number,
  plan: { seconds: number; warmUpSeconds: number },
  load: Load,
): Contender<Measurement> {
  const target = { url: server.url, token, wrongPin: '', botsBytes };
  return contenderOf(server, target, route, plan, load);
}

/** Median times from the request to the last byte, in ms. */
export interface ListTimes {
  /** Nothing changed since the previous request. */
  unchangedMs: number;
  /** One bot's labels changed. */
  changedMs: number;
  bytes: number;
}

/** Requests the list, one request at a time. Restores all bots afterwards. */
export async function timeList({ api }: ServiceHost): Promise<ListTimes> {
  const unchanged: number[] = [];
  const changed: number[] = [];
  let bytes = 0;
  const ask = async (times: number[]) => {
    const from = performance.now();
    const { status, text } = await api.ask('GET', '/api/bots');
    times.push(performance.now() - from);
    if (status !== 200) throw new Error(`GET /api/bots was answered ${status}`);
    bytes = Buffer.byteLength(text);
  };
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const labels = repeat === REPEATS - 1 ? {} : { repeat: String(repeat) };
    await api.expect(200, 'PATCH', `/api/bots/${botId(repeat % 10)}`, { labels });
    await ask(changed);
    await ask(unchanged);
  }
  for (let number = 0; number < 10; number++) {
    await api.expect(200, 'PATCH', `/api/bots/${botId(number)}`, { labels: {} });
  }
  await ask([]);
  return { unchangedMs: median(unchanged), changedMs: median(changed), bytes };
}
