import type { BodyOf, PathOf, RouteName } from '../../shared/contract/routes/table.js';
import { ROUTES } from '../../shared/routes.js';
import type { Exchange } from '../engine/engine.js';
import { type BodyLimits, jsonBody } from '../http/json-body.js';
import type { RouteCall } from './handlers.js';
import { queryReader } from './query-reader.js';

/** Makes the calls of a route. @param readBody is called after the body has arrived. */
export function routeCalls<R extends RouteName>(
  route: R,
  limits: BodyLimits,
): (exchange: Exchange, path: readonly string[], check?: () => void) => RouteCall<R> {
  const readQuery = queryReader(route);
  const { body: schema } = ROUTES[route];
  const readBody = schema === null ? noBody : jsonBody(schema);
  return (exchange, path, check) => ({
    path: path as readonly string[] as PathOf<R>,
    query: readQuery(exchange.query),
    async body() {
      const body = (await readBody(exchange, limits)) as BodyOf<R>;
      check?.();
      return body;
    },
  });
}

function noBody(): never {
  throw new Error('this route has no body');
}
