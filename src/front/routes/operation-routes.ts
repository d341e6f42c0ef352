import { BOT_RESULTS, type OperationChange } from '../../shared/contract/operation-bounds.js';
import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import type { Viewer } from '../../shared/contract/threads.js';
import type { Caller } from '../access/auth.js';
import { jsonResponse } from '../engine/responses.js';
import type { CallerHandler, CallerHandlers } from '../table/handlers.js';
import type { Control } from './control.js';

export interface OperationRoutesParts {
  control: Control;
}

type OperationRoutes = Extract<GuardedRoute, `${string} /api/operations${string}`>;

/** Asks main, which works on the operations. */
export function operationRoutes({
  control,
}: OperationRoutesParts): CallerHandlers<OperationRoutes> {
  const change =
    <C extends OperationChange>(change: C): CallerHandler<`POST /api/operations/{id}/${C}`> =>
    async (exchange, caller, { path: [id] }) => {
      const input = { id, change, viewer: viewerOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('changeOperation', input))));
    };
  return {
    async 'GET /api/operations'(exchange, caller, { query: { limit } }) {
      const list = await control.call('operations', { limit, viewer: viewerOf(caller) });
      exchange.respond(jsonResponse(JSON.stringify(list)));
    },
    async 'GET /api/operations/{id}'(exchange, caller, { path: [id], query: { wait = 0 } }) {
      const input = { id, wait_ms: wait, viewer: viewerOf(caller) };
      const operation = await control.cancellableCall('operation', input, exchange.gone());
      exchange.respond(jsonResponse(JSON.stringify(operation)));
    },
    async 'GET /api/operations/{id}/bots'(exchange, caller, { path: [id], query }) {
      const { result, limit = null, cursor = null } = query;
      // Another value matches no bot.
      const results = result ? BOT_RESULTS.filter((name) => result.includes(name)) : null;
      const input = { id, results, limit, cursor, viewer: viewerOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('operationBots', input))));
    },
    'POST /api/operations/{id}/pause': change('pause'),
    'POST /api/operations/{id}/resume': change('resume'),
    'POST /api/operations/{id}/cancel': change('cancel'),
  };
}

function viewerOf({ record: { name, id: token, reach } }: Caller): Viewer {
  return { name, token, reach };
}
