import type { GuardedRoute, QueryOf } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import { type Caller, rightsOf } from '../access/auth.js';
import type { Exchange } from '../engine/engine.js';
import { jsonResponse } from '../engine/responses.js';
import type { CallerHandlers } from '../table/handlers.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

export interface IncidentRoutesParts {
  control: Control;
  views: Pick<Views, 'default'>;
}

type IncidentRoutes = Extract<
  GuardedRoute,
  `${string} /api/incidents${string}` | 'GET /api/bots/{id}/incidents'
>;

/** Without `after`, a list of groups begins so long before its end, in ms. */
const DEFAULT_RANGE_MS = 24 * 60 * 60 * 1000;

/** Asks main, which stores the incidents. */
export function incidentRoutes({
  control,
  views,
}: IncidentRoutesParts): CallerHandlers<IncidentRoutes> {
  const respondWithIncidents = async (
    exchange: Exchange,
    caller: Caller,
    bot: string | null,
    { cause, limit }: QueryOf<'GET /api/incidents'>,
  ): Promise<void> => {
    const input = { bot, limit, rights: rightsOf(caller), ...(cause !== undefined && { cause }) };
    exchange.respond(jsonResponse(JSON.stringify(await control.call('incidents', input))));
  };
  return {
    async 'GET /api/bots/{id}/incidents'(exchange, caller, { path: [id], query }) {
      views.default.bots.one(id, caller.record.reach);
      await respondWithIncidents(exchange, caller, id, query);
    },
    'GET /api/incidents': (exchange, caller, { query }) =>
      respondWithIncidents(exchange, caller, null, query),
    async 'GET /api/incidents/groups'(exchange, caller, { query }) {
      const { cause = null, limit } = query;
      // The front sets the defaults, so that each node of a cluster cuts the same range into the same steps.
      const { before = Date.now() } = query;
      const { after = before - DEFAULT_RANGE_MS } = query;
      if (after >= before)
        throw new DroverError('bad_request', 'after must be earlier than before');
      const input = { cause, after, before, limit, rights: rightsOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('incidentGroups', input))));
    },
  };
}
