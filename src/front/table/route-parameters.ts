import {
  BOT_QUERY,
  BOTS_QUERY,
  DELETE_BOT_QUERY,
  EVENTS_QUERY,
  HISTORY_QUERY,
  INCIDENT_GROUPS_QUERY,
  INCIDENTS_QUERY,
  type QuerySchema,
  REMOVE_NODE_QUERY,
  RUN_QUERY,
  STATES_QUERY,
  STATS_QUERY,
  STREAM_QUERY,
} from '../../shared/contract/queries.js';
import type { TSchema } from '../../shared/contract/typebox.js';
import { DroverError } from '../../shared/errors.js';
import { queryPairs } from '../http/query-string.js';
import type { RouteName } from './route-table.js';

/** The query parameters of each route: of what it reads, of its description, and of what it refuses. Other routes read none. */
export const QUERIES: Readonly<Partial<Record<RouteName, QuerySchema>>> = {
  'GET /events': STREAM_QUERY,
  'GET /api/bots': BOTS_QUERY,
  'GET /api/bots/{id}': BOT_QUERY,
  'DELETE /api/bots/{id}': DELETE_BOT_QUERY,
  'DELETE /api/nodes/{node}': REMOVE_NODE_QUERY,
  'GET /api/bots/{id}/history': HISTORY_QUERY,
  'GET /api/bots/{id}/incidents': INCIDENTS_QUERY,
  'GET /api/incidents': INCIDENTS_QUERY,
  'GET /api/incidents/groups': INCIDENT_GROUPS_QUERY,
  'GET /api/events': EVENTS_QUERY,
  'GET /api/states': STATES_QUERY,
  'GET /api/stats': STATS_QUERY,
  'GET /api/runs/{name}': RUN_QUERY,
};

/**
 * Refuses parameters that a route does not have, and repeated ones that are no list: who misspells a filter must not get everything.
 * Only on routes of the API and on the stream; monitors, scrapers and browsers add their own parameters to other routes.
 */
export function parameterCheck(route: RouteName): (query: string) => void {
  const [, path = ''] = route.split(' ');
  if (!path.startsWith('/api/') && path !== '/events') return () => {};
  const parameters = Object.entries(QUERIES[route] ?? {});
  const lists = new Set(parameters.filter(([, schema]) => isList(schema)).map(([name]) => name));
  const own = parameters.map(([name]) => name);
  const known = new Set([...own, 'token', ...(path === '/events' ? ['ticket'] : [])]);
  return (query) => {
    const given = new Set<string>();
    for (const [name] of queryPairs(query)) {
      if (!known.has(name)) throw unknownParameter(name, own);
      if (given.has(name) && !lists.has(name)) {
        throw new DroverError('bad_request', `${name} is given twice`);
      }
      given.add(name);
    }
  };
}

function isList(schema: TSchema): boolean {
  return 'type' in schema && schema.type === 'array';
}

function unknownParameter(name: string, known: readonly string[]): DroverError {
  const plain = known.find((one) => name.startsWith(`${one}[`));
  const hint = plain === undefined ? '' : ` (${plain} has no brackets)`;
  const all = known.length > 0 ? `there are: ${known.join(', ')}` : 'this route takes none';
  return new DroverError('bad_request', `unknown parameter ${JSON.stringify(name)}${hint}; ${all}`);
}
