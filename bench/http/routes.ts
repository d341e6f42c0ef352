import type { Bound } from '../harness/bench.js';

/** A server that is asked, and what its answers are checked against. */
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
  /** Statuses that are right under load. */
  statuses: readonly number[];
  /** Requests before the check, at most, whose answer is not the one that is measured. */
  lead?: { status: number; atMost: number };
  /** @returns what is wrong with a whole answer, undefined when it is right. */
  fault(answer: Answer, target: Target): string | undefined;
  /** What the ratio to the bare uWebSockets.js loop must reach. */
  target?: Bound;
  note?: string;
}

/** One answer, read to its end. */
export interface Answer {
  status: number;
  type: string;
  retryAfter: string | null;
  text: string;
}

/** Attempts of a full PIN bucket (interface-seed §8). */
const PIN_ATTEMPTS = 12;
const LOCKED = /^\{"error":"locked, retry in (\d+)s"\}$/;

const CONNECTIONS = 50;
/** Few, for the generator copies each long body; many would measure its queue. */
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
    note: `The bucket holds ${PIN_ATTEMPTS} attempts and is emptied before: what is measured is 429, and a 401 every 5 s.`,
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

/** The one route whose cost depends on the bots there are. */
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
  note: 'The controls answer with a ready buffer of the same size.',
};

export function headersOf(route: Route, target: Target): Record<string, string> {
  return {
    ...(route.authorized ? { authorization: `Bearer ${target.token}` } : {}),
    ...(route.method === 'POST' ? { 'content-type': 'application/json' } : {}),
  };
}

/** Asks once, as the load will, and reads the answer. */
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

/** @throws Error when the target's answer is not the one that is to be measured. */
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
