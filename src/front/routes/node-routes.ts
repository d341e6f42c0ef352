import type { NodeAction } from '../../shared/contract/nodes.js';
import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import { emptyResponse, jsonResponse } from '../engine/responses.js';
import type { CallerHandler, CallerHandlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface NodeRoutesParts {
  control: Control;
}

type NodeRoutes = Extract<GuardedRoute, `${string} /api/nodes${string}`>;

/** `/api/nodes`: main knows the nodes. */
export function nodeRoutes({ control }: NodeRoutesParts): CallerHandlers<NodeRoutes> {
  /** Has no body. */
  const act =
    <A extends NodeAction>(action: A): CallerHandler<`POST /api/nodes/{node}/${A}`> =>
    async (exchange, _caller, { path: [node] }) => {
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
    async 'DELETE /api/nodes/records/{bucket}/{key}'(exchange, _caller, { path: [bucket, key] }) {
      await control.call('removeRecord', { bucket, key });
      exchange.respond(emptyResponse(204));
    },
    async 'DELETE /api/nodes/{node}'(exchange, _caller, { path: [node], query: { bots = null } }) {
      await control.call('removeNode', { node, bots });
      exchange.respond(emptyResponse(204));
    },
    'POST /api/nodes/{node}/cordon': act('cordon'),
    'POST /api/nodes/{node}/uncordon': act('uncordon'),
    'POST /api/nodes/{node}/drain': act('drain'),
  };
}
