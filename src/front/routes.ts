// Runs in a front thread. Owns the front as a whole: a handler behind every line of the table of routes.

import type { Config } from '../shared/contract/config.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { Rpc } from '../shared/contract/rpc.js';
import type { ControlMethods, FrontMethods } from '../shared/contract/threads.js';
import type { Quota } from '../shared/memory/quota.js';
import type { AccessLog } from './access-log.js';
import type { Authenticator } from './auth.js';
import { authRoutes } from './auth-routes.js';
import { botRoutes } from './bot-routes.js';
import { Cors } from './cors.js';
import type { DashboardFiles } from './dashboard-files.js';
import type { FixedAnswers, FixedResponse } from './engine/engine.js';
import type { Fanout } from './fanout.js';
import { type CallerHandler, Front, type OpenHandler } from './front.js';
import { historyRoutes } from './history/history-routes.js';
import type { JournalClient } from './history/journal-client.js';
import type { BodyLimits } from './json-body.js';
import { type Counted, metricsRoute } from './metrics/metrics-route.js';
import type { PinExchange } from './pin-exchange.js';
import { referenceRoutes } from './reference/reference-routes.js';
import { SAFE_HEADERS } from './responses.js';
import { type GuardedRoute, type OpenRoute, routeNumber } from './route-table.js';
import type { SnapshotMirror } from './snapshot-mirror.js';
import type { StreamRoute } from './stream-route.js';
import type { TokenStreams } from './token-streams.js';

/** What the routes work with. */
export interface FrontParts {
  config: Config;
  limits: BodyLimits;
  auth: Authenticator;
  pin: PinExchange;
  log: AccessLog;
  dashboard: DashboardFiles;
  mirror: SnapshotMirror;
  /** Calls `task` when the mirror holds all that is published. */
  whenCurrent: (task: () => void) => void | Promise<void>;
  fanout: Fanout;
  journal: JournalClient;
  streams: TokenStreams;
  quota: Quota<'perToken' | 'perAddress'>;
  names: NameHasher;
  epoch: string;
  /** The most bytes that one write to a stream sends in one piece. */
  maxWriteBytes: number;
  control: Rpc<FrontMethods, ControlMethods>;
  counted: Counted;
  /** Tells main which tokens were used. */
  tellUses: () => void;
  /** The port that clients see. */
  port: () => number;
}

/** A handler for every route; those of streams find out themselves who calls. */
export type Handlers = Record<OpenRoute | 'GET /events', OpenHandler> &
  Record<Exclude<GuardedRoute, 'GET /events'>, CallerHandler>;

/** What monitors ask for many times a second, and what asks for no thought. */
const HEALTHY: FixedResponse = {
  route: routeNumber('GET /health'),
  status: 200,
  headers: ['Content-Type', 'text/plain', ...SAFE_HEADERS],
  body: 'ok',
};

/** What an engine may answer by itself: nothing where each answer is logged or depends on its request's origin. */
export function fixedAnswers({ http, log }: Config): FixedAnswers {
  const isFixed = http.cors_origins.length === 0 && log.access !== 'all';
  return new Map(isFixed ? [['/health', HEALTHY]] : []);
}

/** The front with all of its routes. */
export function createFront(parts: FrontParts, streams: StreamRoute): Front {
  const { auth, log, config, dashboard } = parts;
  const { http } = config;
  const front = new Front({
    auth,
    log,
    cors: new Cors(http.cors_origins),
    maxUrlBytes: http.max_url_bytes,
    maxInFlight: http.max_requests_in_flight,
  });
  const { 'POST /auth/pin': exchangePin, ...guardedAuth } = authRoutes(parts);
  const guarded = guardAll(front, {
    ...guardedAuth,
    ...botRoutes(parts),
    ...historyRoutes(parts),
    'GET /metrics': metricsRoute(parts),
  });
  return front.routes({
    ...guarded,
    ...referenceRoutes(),
    'GET /': (exchange) => dashboard.page(exchange),
    'GET /assets/{file}': (exchange, [file = '']) => dashboard.asset(exchange, file),
    'GET /health': (exchange) => exchange.answer(HEALTHY),
    'POST /auth/pin': exchangePin,
    'GET /events': streams.handler(front),
  });
}

function guardAll<K extends GuardedRoute>(
  front: Front,
  handlers: Readonly<Record<K, CallerHandler>>,
): Record<K, OpenHandler> {
  const guarded = {} as Record<K, OpenHandler>;
  for (const name of Object.keys(handlers) as K[]) {
    guarded[name] = front.guarded(name, handlers[name]);
  }
  return guarded;
}
