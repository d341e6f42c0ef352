import type { GuardedRoute, OpenRoute } from '../shared/contract/routes/table.js';
import { routeNumber } from '../shared/routes.js';
import type { FixedResponse, FixedResponses } from './engine/engine.js';
import { SAFE_HEADERS } from './engine/responses.js';
import { RequestHandler, type RequestHandlerOptions } from './requests/request-handler.js';
import { type AuthRoutesParts, authRoutes, signInRoutes } from './routes/auth-routes.js';
import { type BotRoutesParts, botRoutes } from './routes/bot-routes.js';
import type { DashboardFiles } from './routes/dashboard-files.js';
import { type FleetRoutesParts, fleetRoutes } from './routes/fleet-routes.js';
import { type HistoryRoutesParts, historyRoutes } from './routes/history-routes.js';
import { type IncidentRoutesParts, incidentRoutes } from './routes/incident-routes.js';
import { type MetricsRouteParts, metricsRoute } from './routes/metrics-route.js';
import { type NodeRoutesParts, nodeRoutes } from './routes/node-routes.js';
import { type OperationRoutesParts, operationRoutes } from './routes/operation-routes.js';
import { readyRoute } from './routes/ready-route.js';
import { referenceRoutes } from './routes/reference-routes.js';
import { type RuleRoutesParts, ruleRoutes } from './routes/rule-routes.js';
import { type RunRoutesParts, runRoutes } from './routes/run-routes.js';
import { type StreamRouteParts, streamRoute } from './routes/stream-route.js';
import type { CallerHandlers, Handler, OpenHandlers } from './table/handlers.js';
import type { Views } from './views/views.js';

/** The parts that the route groups need, each as its own module declares it. */
export type FrontParts = RequestHandlerOptions &
  AuthRoutesParts &
  BotRoutesParts &
  FleetRoutesParts &
  IncidentRoutesParts &
  NodeRoutesParts &
  OperationRoutesParts &
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

/**
 * The responses that an engine may give by itself: none if each response is logged or depends on the request's origin.
 */
export function fixedResponses({
  cors,
  log,
  secureHeaders,
}: Pick<RequestHandlerOptions, 'cors' | 'log' | 'secureHeaders'>): FixedResponses {
  const isFixed = !cors.isOn && !log.logsAll;
  const healthy = { ...HEALTHY, headers: [...HEALTHY.headers, ...secureHeaders] };
  return new Map(isFixed ? [['/health', healthy]] : []);
}

/** Handles every route of src/shared/contract/routes/table.ts. */
export function createHandler(parts: FrontParts): RequestHandler {
  const { dashboard } = parts;
  const handler = new RequestHandler(parts);
  return handler.routes({
    ...guardAll(handler, {
      ...authRoutes(parts),
      ...botRoutes(parts),
      ...fleetRoutes(parts),
      ...incidentRoutes(parts),
      ...nodeRoutes(parts),
      ...operationRoutes(parts),
      ...ruleRoutes(parts),
      ...runRoutes(parts),
      ...historyRoutes(parts),
      'GET /metrics': metricsRoute(parts),
    }),
    ...openAll(handler, {
      ...signInRoutes(parts),
      ...referenceRoutes(),
      'GET /': (exchange) => dashboard.page(exchange),
      'GET /assets/{file}': (exchange, { path: [file] }) => dashboard.asset(exchange, file),
      'GET /health': (exchange) => exchange.respond(HEALTHY),
      'GET /ready': readyRoute(parts.control, parts.views),
    }),
    'GET /events': streamRoute(parts, handler),
  });
}

function guardAll<R extends GuardedRoute>(
  handler: RequestHandler,
  handlers: CallerHandlers<R>,
): Record<R, Handler> {
  const all = {} as Record<R, Handler>;
  for (const name of Object.keys(handlers) as R[]) {
    all[name] = handler.guarded(name, handlers[name]);
  }
  return all;
}

function openAll<R extends OpenRoute>(
  handler: RequestHandler,
  handlers: OpenHandlers<R>,
): Record<R, Handler> {
  const all = {} as Record<R, Handler>;
  for (const name of Object.keys(handlers) as R[]) all[name] = handler.open(name, handlers[name]);
  return all;
}
