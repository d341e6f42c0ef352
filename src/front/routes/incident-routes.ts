import { CAUSE } from '../../shared/contract/incident-groups.js';
import type { INCIDENT_GROUPS_QUERY, INCIDENTS_QUERY } from '../../shared/contract/queries.js';
import { DroverError } from '../../shared/errors.js';
import { type Caller, rightsOf } from '../access/auth.js';
import type { Exchange } from '../engine/engine.js';
import { jsonResponse } from '../engine/responses.js';
import { timeOf } from '../history/event-query.js';
import { queryPairs, queryValue, readLimit } from '../http/query-string.js';
import type { Handlers } from '../table/handlers.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

export interface IncidentRoutesParts {
  control: Control;
  views: Pick<Views, 'default'>;
}

type IncidentRoutes = Extract<
  keyof Handlers,
  `${string} /api/incidents${string}` | 'GET /api/bots/{id}/incidents'
>;

const CAUSE_PATTERN = new RegExp(CAUSE);
/** Without `after`, a list of groups begins so long before its end, in ms. */
const DEFAULT_RANGE_MS = 24 * 60 * 60 * 1000;

/** Main has the incidents. */
export function incidentRoutes({
  control,
  views,
}: IncidentRoutesParts): Pick<Handlers, IncidentRoutes> {
  const respondWithIncidents = async (
    exchange: Exchange,
    caller: Caller,
    bot: string | null,
  ): Promise<void> => {
    const pairs = queryPairs(exchange.query);
    const value = (name: keyof typeof INCIDENTS_QUERY) => queryValue(pairs, name);
    const limit = readLimit(value('limit'));
    const cause = readCause(value('cause'));
    const input = { bot, limit, rights: rightsOf(caller), ...(cause !== null && { cause }) };
    exchange.respond(jsonResponse(JSON.stringify(await control.call('incidents', input))));
  };
  return {
    async 'GET /api/bots/{id}/incidents'(exchange, caller, [id = '']) {
      views.default.bots.one(id, caller.record.reach);
      await respondWithIncidents(exchange, caller, id);
    },
    'GET /api/incidents': (exchange, caller) => respondWithIncidents(exchange, caller, null),
    async 'GET /api/incidents/groups'(exchange, caller) {
      const pairs = queryPairs(exchange.query);
      const value = (name: keyof typeof INCIDENT_GROUPS_QUERY) => queryValue(pairs, name);
      const cause = readCause(value('cause'));
      const limit = readLimit(value('limit'));
      // Here and not in main: each node of a cluster cuts the same range into the same steps.
      const before = readTime('before', value('before')) ?? Date.now();
      const after = readTime('after', value('after')) ?? before - DEFAULT_RANGE_MS;
      if (after >= before)
        throw new DroverError('bad_request', 'after must be earlier than before');
      const input = { cause, after, before, limit, rights: rightsOf(caller) };
      exchange.respond(jsonResponse(JSON.stringify(await control.call('incidentGroups', input))));
    },
  };
}

function readTime(name: string, value: string | undefined): number | null {
  return value === undefined ? null : timeOf(name, value);
}

function readCause(value: string | undefined): string | null {
  if (value === undefined) return null;
  if (CAUSE_PATTERN.test(value)) return value;
  throw new DroverError(
    'bad_request',
    'cause must be 16 hexadecimal digits, as an incident has it',
  );
}
