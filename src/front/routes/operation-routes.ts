import {
  BOT_RESULTS,
  type OperationChange,
  type RolloutChange,
} from '../../shared/contract/operation-bounds.js';
import type { GuardedRoute } from '../../shared/contract/routes/table.js';
import type { Viewer } from '../../shared/contract/threads.js';
import { type Authenticator, type Caller, rightsOf } from '../access/auth.js';
import { jsonResponse } from '../engine/responses.js';
import type { CallerHandler, CallerHandlers } from '../table/handlers.js';
import type { Views } from '../views/views.js';
import { actorOf } from './bot-routes.js';
import type { Control } from './control.js';
import { selectBots } from './selected-bots.js';

export interface OperationRoutesParts {
  control: Control;
  auth: Pick<Authenticator, 'recheck'>;
  views: Pick<Views, 'default' | 'whenCurrent'>;
}

type OperationRoutes = Extract<
  GuardedRoute,
  `${string} /api/operations${string}` | `${string} /api/rollouts${string}`
>;

/** Asks main, which works on the operations. */
export function operationRoutes({
  control,
  auth,
  views,
}: OperationRoutesParts): CallerHandlers<OperationRoutes> {
  const change =
    <C extends OperationChange>(change: C): CallerHandler<`POST /api/operations/{id}/${C}`> =>
    async (exchange, caller, { path: [id] }) => {
      const input = { id, change, viewer: viewerOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('changeOperation', input))));
    };
  const changeRollout =
    <C extends RolloutChange>(change: C): CallerHandler<`POST /api/rollouts/{id}/${C}`> =>
    async (exchange, caller, { path: [id], activity }) => {
      activity.target = id;
      const input = { id, change, viewer: viewerOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('changeRollout', input))));
    };
  return {
    async 'POST /api/rollouts'(exchange, caller, { body: read, activity }) {
      const by = actorOf(caller, exchange);
      const { ids, labels, query, ...body } = await read();
      const isSelected = (ids ?? labels ?? query) !== undefined;
      const wanted = { ids, labels, query: kindQuery(body.kind, query) };
      const gone = exchange.gone();
      const selected = isSelected ? await selectBots(views, wanted, caller.record, gone) : null;
      auth.recheck(caller);
      const rights = rightsOf(caller);
      const operation = await control.call('startRollout', { body, ids: selected, rights, by });
      activity.target = operation.title;
      exchange.respond(jsonResponse(JSON.stringify(operation), 201));
    },
    'POST /api/rollouts/{id}/promote': changeRollout('promote'),
    'POST /api/rollouts/{id}/abort': changeRollout('abort'),
    'POST /api/rollouts/{id}/revert': changeRollout('revert'),
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

/** Of a query, only bots of the kind count. */
function kindQuery(kind: string | undefined, query: string | undefined): string | undefined {
  return kind === undefined || query === undefined
    ? query
    : `${query} kind:${JSON.stringify(kind)}`;
}

function viewerOf({ record: { name, id: token, reach } }: Caller): Viewer {
  return { name, token, reach };
}
