import { BOTS_OF_REMOVED, type NodeAction } from '../../shared/contract/nodes.js';
import type { REMOVE_NODE_QUERY } from '../../shared/contract/queries.js';
import { emptyResponse, jsonResponse } from '../engine/responses.js';
import { queryPairs, queryValue, readOneOf } from '../http/query-string.js';
import type { CallerHandler, Handlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface NodeRoutesParts {
  control: Control;
}

type NodeRoutes = Extract<keyof Handlers, `${string} /api/nodes${string}`>;

/** `/api/nodes`: main knows the nodes. */
export function nodeRoutes({ control }: NodeRoutesParts): Pick<Handlers, NodeRoutes> {
  /** Has no body. */
  const act =
    (action: NodeAction): CallerHandler =>
    async (exchange, _caller, [node = '']) => {
      const output = await control.call('actOnNode', { node, action });
      exchange.respond(jsonResponse(JSON.stringify(output)));
    };
  return {
    async 'GET /api/nodes'(exchange) {
      exchange.respond(jsonResponse(JSON.stringify(await control.call('nodes', null))));
    },
    async 'POST /api/nodes/rebalance'(exchange) {
      exchange.respond(jsonResponse(JSON.stringify(await control.call('rebalance', null))));
    },
    async 'DELETE /api/nodes/records/{bucket}/{key}'(exchange, _caller, [bucket = '', key = '']) {
      await control.call('removeRecord', { bucket, key });
      exchange.respond(emptyResponse(204));
    },
    async 'DELETE /api/nodes/{node}'(exchange, _caller, [node = '']) {
      const given = queryValue<keyof typeof REMOVE_NODE_QUERY>(queryPairs(exchange.query), 'bots');
      const bots = given === undefined ? null : readOneOf('bots', given, BOTS_OF_REMOVED);
      await control.call('removeNode', { node, bots });
      exchange.respond(emptyResponse(204));
    },
    'POST /api/nodes/{node}/cordon': act('cordon'),
    'POST /api/nodes/{node}/uncordon': act('uncordon'),
    'POST /api/nodes/{node}/drain': act('drain'),
  };
}
