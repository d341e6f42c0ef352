import type { Bound } from '../harness/bench.js';

/** A server and its expected responses. */
export interface Target {
  url: string;
  token: string;
  wrongPin: string;
  /** Bytes of the body of GET /api/bots, the same for every contender of a run. */
  botsBytes: number;
}

export interface Route {
  id: string;
  title: string;
  method: 'GET' | 'POST';
  path: string;
  authorized: boolean;
  body?: (target: Target) => string;
  connections: number;
  /** Expected statuses under load. */
  statuses: readonly number[];
  /** Bound of the requests before the check that get another response than the measured one. */
  lead?: { status: number; atMost: number };
  /** @returns what is wrong with a response, undefined if it is right. */
  fault(answer: Answer, target: Target): string | undefined;
  /** Target of the ratio to the bare uWebSockets.js loop. */
  target?: Bound;
  note?: string;
}

/** A complete response. */
export interface Answer {
  status: number;
  type: string;
  retryAfter: string | null;
  text: string;
}

/** Attempts of a full PIN bucket (docs/INTERFACE.md §8). */
const PIN_ATTEMPTS = 12;
const LOCKED = /^\{"error":"locked, retry in (\d+)s"\}$/;

const CONNECTIONS = 50;
/** Few, because the generator copies each long body; more would measure its queue. */
const CONNECTIONS_LIST = 10;

export const ROUTES_WITHOUT_BOTS: readonly Route[] = [
  {
    id: 'health',
    title: 'GET /health',
    method: 'GET',
    path: '/health',
    authorized: false,
    connections: CONNECTIONS,
    statuses: [200],
    fault: ({ status, type, text }) =>
      status === 200 && type.startsWith('text/plain') && text === 'ok' ? undefined : 'not 200 ok',
    target: { min: 0.9 },
  },
  {
    id: 'auth-pin',
    title: 'POST /auth/pin, wrong PINs',
    method: 'POST',
    path: '/auth/pin',
    authorized: false,
    body: ({ wrongPin }) => JSON.stringify({ pin: wrongPin }),
    connections: CONNECTIONS,
    statuses: [401, 429],
    lead: { status: 401, atMost: PIN_ATTEMPTS + 1 },
    fault: ({ status, retryAfter, text }) => {
      const seconds = LOCKED.exec(text)?.[1];
      if (status !== 429 || seconds === undefined) return 'not locked';
      return retryAfter === seconds ? undefined : `Retry-After is ${retryAfter}`;
    },
    note: `The bucket of ${PIN_ATTEMPTS} attempts is emptied first: the responses are 429, and a 401 every 5 s.`,
  },
  {
    id: 'api-info',
    title: 'GET /api-info',
    method: 'GET',
    path: '/api-info',
    authorized: true,
    connections: CONNECTIONS,
    statuses: [200],
    fault: ({ status, text }, { url, token }) => {
      if (status !== 200) return 'not 200';
      const info = JSON.parse(text) as { port?: unknown; token?: unknown };
      return info.token === token && info.port === Number(new URL(url).port)
        ? undefined
        : 'not the port and the token that was sent';
    },
    target: { min: 0.7 },
  },
];

export const BOTS = 1_000;

/** The only route whose cost depends on the number of bots. */
export const LIST: Route = {
  id: 'api-bots',
  title: `GET /api/bots, ${BOTS.toLocaleString('en-US')} bots`,
  method: 'GET',
  path: '/api/bots',
  authorized: true,
  connections: CONNECTIONS_LIST,
  statuses: [200],
  fault: ({ status, text }, { botsBytes }) => {
    if (status !== 200) return 'not 200';
    const { bots } = JSON.parse(text) as { bots?: unknown };
    if (!Array.isArray(bots)) return 'no list of bots';
    const bytes = Buffer.byteLength(text);
    return bytes === botsBytes ? undefined : `${bytes} bytes instead of ${botsBytes}`;
  },
  note: 'The controls send a prepared buffer of the same size.',
};

export function headersOf(route: Route, target: Target): Record<string, string> {
  return {
    ...(route.authorized ? { authorization: `Bearer ${target.token}` } : {}),
    ...(route.method === 'POST' ? { 'content-type': 'application/json' } : {}),
  };
}

/** Sends one request like the load does, and reads the response. */
export async function ask(route: Route, target: Target): Promise<Answer> {
  const body = route.body?.(target);
  const response = await fetch(target.url + route.path, {
    method: route.method,
    headers: headersOf(route, target),
    ...(body === undefined ? {} : { body }),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    retryAfter: response.headers.get('retry-after'),
    text: await response.text(),
  };
}

/** @throws Error if the target's response is not the expected one. */
export async function verify(name: string, route: Route, target: Target): Promise<void> {
  let answer = await ask(route, target);
  for (let asked = 1; asked <= (route.lead?.atMost ?? 0); asked++) {
    if (answer.status !== route.lead?.status) break;
    answer = await ask(route, target);
  }
  const fault = route.fault(answer, target);
  if (fault === undefined) return;
  const start = answer.text.slice(0, 200);
  throw new Error(`${name}, ${route.title}: ${fault} (${answer.status} ${answer.type} ${start})`);
}

/** Bytes of the body of GET /api/bots. @throws Error if the target does not list so many bots. */
export async function sizeOfList(target: Target, bots: number): Promise<number> {
  const { text } = await ask(LIST, target);
  const list = JSON.parse(text) as { bots: unknown[] };
  if (list.bots.length !== bots) throw new Error(`${list.bots.length} of ${bots} bots are listed`);
  return Buffer.byteLength(text);
}
