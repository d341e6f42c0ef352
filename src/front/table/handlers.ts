import type {
  ActiveRoute,
  BodyOf,
  GuardedRoute,
  OpenRoute,
  PathOf,
  QueryOf,
  RouteName,
} from '../../shared/contract/routes/table.js';
import { ROUTES } from '../../shared/routes.js';
import type { Caller } from '../access/auth.js';
import type { Exchange } from '../engine/engine.js';
import { type BodyLimits, jsonBody } from '../http/json-body.js';
import type { Activity } from './activities.js';
import { queryReader } from './query-reader.js';

/** A request to a route, checked against the table of routes. */
export interface RouteCall<R extends RouteName> {
  path: PathOf<R>;
  query: QueryOf<R>;
  /** Reads the body. To be called before the handler's first await. @throws DroverError like jsonBody(); `invalid_token` if the token ended meanwhile. */
  body: () => Promise<BodyOf<R>>;
  /** What the request does: the handler says to what, unless it is what the path names. Null for a route that changes nothing. */
  activity: R extends ActiveRoute ? Activity : null;
}

/** A handler as the router calls it. @param path the values of the placeholders. */
export type Handler = (exchange: Exchange, path: readonly string[]) => void | Promise<void>;

/** A handler that needs no token. */
export type OpenHandler<R extends RouteName> = (
  exchange: Exchange,
  call: RouteCall<R>,
) => void | Promise<void>;

/** A handler that runs for an authenticated and authorized caller. */
export type CallerHandler<R extends RouteName> = (
  exchange: Exchange,
  caller: Caller,
  call: RouteCall<R>,
) => void | Promise<void>;

/** Handlers of some routes. */
export type OpenHandlers<R extends OpenRoute> = { [K in R]: OpenHandler<K> };
export type CallerHandlers<R extends GuardedRoute> = { [K in R]: CallerHandler<K> };

/** Authorization of the routes in the table. */
export interface Guard {
  /** Puts authentication, authorization and the check of the request before the handler. */
  guarded<R extends GuardedRoute>(route: R, handler: CallerHandler<R>): Handler;
  /** @returns the caller if its token allows the route. @throws DroverError `forbidden`. */
  admit(route: GuardedRoute, exchange: Exchange, caller: Caller): Caller;
}

/** Makes the calls of a route. The `check` of a call runs when its body has arrived. */
export function routeCalls<R extends RouteName>(
  route: R,
  limits: BodyLimits,
): (
  exchange: Exchange,
  path: readonly string[],
  activity: Activity | null,
  check?: () => void,
) => RouteCall<R> {
  const readQuery = queryReader(route);
  const { body: schema, maxBodyBytes: maxBytes = limits.maxBytes } = ROUTES[route];
  const bounds = { ...limits, maxBytes };
  const readBody = schema === null ? noBody : jsonBody(schema);
  return (exchange, path, activity, check) => ({
    path: path as readonly string[] as PathOf<R>,
    activity: activity as RouteCall<R>['activity'],
    query: readQuery(exchange.query),
    async body() {
      const body = (await readBody(exchange, bounds)) as BodyOf<R>;
      check?.();
      return body;
    },
  });
}

function noBody(): never {
  throw new Error('this route has no body');
}
