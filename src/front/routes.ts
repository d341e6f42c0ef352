import type { FixedResponse, FixedResponses } from './engine/engine.js';
import { SAFE_HEADERS } from './engine/responses.js';
import { RequestHandler, type RequestHandlerOptions } from './requests/request-handler.js';
import { type AuthRoutesParts, authRoutes } from './routes/auth-routes.js';
import { type BotRoutesParts, botRoutes } from './routes/bot-routes.js';
import type { DashboardFiles } from './routes/dashboard-files.js';
import { type HistoryRoutesParts, historyRoutes } from './routes/history-routes.js';
import { type IncidentRoutesParts, incidentRoutes } from './routes/incident-routes.js';
import { type MetricsRouteParts, metricsRoute } from './routes/metrics-route.js';
import { type NodeRoutesParts, nodeRoutes } from './routes/node-routes.js';
import { readyRoute } from './routes/ready-route.js';
import { referenceRoutes } from './routes/reference-routes.js';
import { type RuleRoutesParts, ruleRoutes } from './routes/rule-routes.js';
import { type RunRoutesParts, runRoutes } from './routes/run-routes.js';
import { type StreamRouteParts, streamRoute } from './routes/stream-route.js';
import type { CallerHandler, Guard, OpenHandler } from './table/handlers.js';
import { type GuardedRoute, routeNumber } from './table/route-table.js';
import type { Views } from './views/views.js';

/** What the route groups need, each as its own module declares it. */
export type FrontParts = RequestHandlerOptions &
  AuthRoutesParts &
  BotRoutesParts &
  IncidentRoutesParts &
  NodeRoutesParts &
  RuleRoutesParts &
  RunRoutesParts &
  HistoryRoutesParts &
  StreamRouteParts &
  MetricsRouteParts & {
    dashboard: Pick<DashboardFiles, 'page' | 'asset'>;
    views: Pick<Views, 'isWithoutCluster'>;
  };

/** Monitors ask for it many times a second. */
const HEALTHY: FixedResponse = {
  route: routeNumber('GET /health'),
  status: 200,
  headers: ['Content-Type', 'text/plain', ...SAFE_HEADERS],
  body: 'ok',
};

/** What an engine may answer by itself: nothing if each response is logged or depends on the request's origin. */
export function fixedResponses({
  cors,
  log,
  secureHeaders,
}: Pick<RequestHandlerOptions, 'cors' | 'log' | 'secureHeaders'>): FixedResponses {
  const isFixed = !cors.isOn && !log.logsAll;
  const healthy = { ...HEALTHY, headers: [...HEALTHY.headers, ...secureHeaders] };
  return new Map(isFixed ? [['/health', healthy]] : []);
}

/**
 * The front with a handler for every route of src/front/table/route-table.ts.
 *
 * It needs neither threads nor sockets, so a test can compose it in its own process:
 * - `control` is any object with `call` and `cancellableCall`; it stands for main.
 * - `views` are Views on rings of the test. Their mirrors' `reset()` feeds them by hand.
 * - `RequestHandler.handle()` takes the request: any object that implements `Exchange`, whose `respond()` records the response.
 */
export function createFront(parts: FrontParts): RequestHandler {
  const { dashboard } = parts;
  const handler = new RequestHandler(parts);
  const {
    'POST /auth/pin': exchangePin,
    'POST /auth/link': useLink,
    'POST /auth/link/check': checkLink,
    ...guardedAuth
  } = authRoutes(parts);
  return handler.routes({
    ...guardAll(handler, {
      ...guardedAuth,
      ...botRoutes(parts),
      ...incidentRoutes(parts),
      ...nodeRoutes(parts),
      ...ruleRoutes(parts),
      ...runRoutes(parts),
      ...historyRoutes(parts),
      'GET /metrics': metricsRoute(parts),
    }),
    ...referenceRoutes(),
    'GET /': (exchange) => dashboard.page(exchange),
    'GET /assets/{file}': (exchange, [file = '']) => dashboard.asset(exchange, file),
    'GET /health': (exchange) => exchange.respond(HEALTHY),
    'GET /ready': readyRoute(parts.control, parts.views),
    'POST /auth/pin': exchangePin,
    'POST /auth/link': useLink,
    'POST /auth/link/check': checkLink,
    'GET /events': streamRoute(parts, handler),
  });
}

function guardAll<K extends GuardedRoute>(
  guard: Guard,
  handlers: Readonly<Record<K, CallerHandler>>,
): Record<K, OpenHandler> {
  const guarded = {} as Record<K, OpenHandler>;
  for (const name of Object.keys(handlers) as K[]) {
    guarded[name] = guard.guarded(name, handlers[name]);
  }
  return guarded;
}
