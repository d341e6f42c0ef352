// Schemas of query strings: the parameters of a route and their bounds. Used by the code that reads them and by the API
// reference.

import { CAUSE } from './incident-groups.js';
import { oneOf } from './json-schema.js';
import { BOTS_OF_REMOVED } from './nodes.js';
import {
  FORMATS,
  LIMIT,
  MAX_HISTORY_FIELDS,
  MAX_QUERY,
  MAX_TEXT,
  ORDERS,
  POINTS,
  SNAPSHOT,
} from './query-bounds.js';
import Type, { type TSchema } from './typebox.js';

/** The query parameters of a route. All are optional but lists with a least number of values. */
export type QuerySchema = Readonly<Record<string, TSchema>>;

/** Several values: comma-separated, repeated, or both. */
const list = (description: string, example: string[]): TSchema =>
  Type.Array(Type.String(), { description, examples: [example] });
const text = (description: string, example?: string): TSchema =>
  Type.String({ description, ...(example === undefined ? {} : { examples: [example] }) });
const cause = (description: string): TSchema =>
  Type.String({ pattern: CAUSE, description, examples: ['5d0c7c1b9a3f2e64'] });
const limit = Type.Integer({ ...LIMIT, description: 'Maximum number of results.' });

const botFilters = (what: string): Record<'status' | 'kind' | 'label', TSchema> => ({
  status: list(`${what} with this status.`, ['in_world']),
  kind: list(`${what} with this kind.`, ['demo']),
  label: list(`${what} with all of these labels: \`name=value\`, or \`name\` for any value.`, [
    'team=a',
  ]),
});

const FILTERS = {
  event: list('Kinds of events: `log`, `session`, `alert`.', ['log']),
  level: list('Levels of lines: `info`, `warn`, `error`, `state`.', ['warn', 'error']),
  session: list('Ids of bots.', ['demo-1']),
  scope: list('Scopes of lines.', ['tcp']),
  node: list('Nodes of the cluster; `self` alone: the separate stream of the answering node.', [
    'h1',
  ]),
  ...botFilters('Only events of bots'),
  q: Type.String({
    maxLength: MAX_TEXT,
    description:
      'Text in the message, or in the strings of the JSON of other events. Ignores case and ANSI escapes.',
  }),
};

/** A query: docs/QUERY.md. */
const query = (what: string, example: string): TSchema =>
  Type.String({
    maxLength: MAX_QUERY,
    description: `${what} that match a query: docs/QUERY.md.`,
    examples: [example],
  });

/** `GET /events`. */
export const STREAM_QUERY = {
  ...FILTERS,
  query: query('Only events', 'level:warn,error label:team=a -"keep alive"'),
  snapshot: oneOf(SNAPSHOT, { description: '`0` leaves out the initial snapshots.' }),
  last_event_id: text(
    'As the header `Last-Event-ID`, which takes precedence. A value that is not an id is ignored.',
    '1d0b52646d-119',
  ),
  lastEventId: text(
    'The same, as event-source-polyfill sends it; takes precedence over `last_event_id`.',
  ),
} satisfies QuerySchema;

/** `GET /api/bots`. */
export const BOTS_QUERY = {
  query: query('Only bots', 'status:failed label:team=a -kind:demo'),
  ...botFilters('Only bots'),
  node: list('Only bots of this node of the cluster; `self`: what the answering node runs.', [
    'h1',
  ]),
  sort: text(
    'Order by a field of docs/QUERY.md: `bot`, `kind`, `status`, `desired`, `node`, `host`, `restarts`, `last_error`, `since` (age of the status), `data.<name>` or `label.<name>`; `-` before it reverses. Numbers come before texts, bots without the field last, equal ones by id.',
    '-data.gold',
  ),
  limit: Type.Integer({
    minimum: LIMIT.minimum,
    maximum: LIMIT.maximum,
    description: 'Maximum number of bots, in the order of ids or `sort`. Default: all.',
  }),
  cursor: text('`next` of the previous page, with the same parameters. Needs `limit`.', 'demo-3'),
} satisfies QuerySchema;

/** `GET /api/bots/{id}`. */
export const BOT_QUERY = {
  node: oneOf(['self'], {
    description:
      '`self`: as the own stream of the node that answers has it, not that of the cluster.',
  }),
} satisfies QuerySchema;

/** `DELETE /api/bots/{id}`. */
export const DELETE_BOT_QUERY = {
  node: text(
    'What this node of the cluster has on its disk, `self` for the node that answers: removes a bot that was left there when the cluster had another with the id.',
    'h2',
  ),
} satisfies QuerySchema;

/** `DELETE /api/nodes/{node}`. */
export const REMOVE_NODE_QUERY = {
  bots: oneOf(BOTS_OF_REMOVED, {
    description: 'What to do with its bots.',
  }),
} satisfies QuerySchema;

/** `GET /api/incidents` and `GET /api/bots/{id}/incidents`. */
export const INCIDENTS_QUERY = {
  cause: cause('Only incidents of this cause.'),
  limit,
} satisfies QuerySchema;

/** `GET /api/runs/{name}`. */
export const RUN_QUERY = {
  from: Type.Integer({ minimum: 0, default: 0, description: 'Where to begin, in bytes.' }),
} satisfies QuerySchema;

/** `GET /api/incidents/groups`. */
export const INCIDENT_GROUPS_QUERY = {
  cause: cause('Only this group, with all of its bots.'),
  after: text(
    'A time as in `GET /api/events`: groups with incidents since then. Default: a day before `before`.',
  ),
  before: text('A time, exclusive. Default: now.'),
  limit,
} satisfies QuerySchema;

/** `GET /api/events`. */
export const EVENTS_QUERY = {
  ...FILTERS,
  query: query('Only events', 'level:warn,error label:team=a -"keep alive"'),
  order: oneOf(ORDERS, {
    description: 'Default: `newest`, for downloads `oldest`.',
  }),
  after: text(
    'An id (exclusive) or a time (inclusive): milliseconds, `2026-01-31` (UTC), or `2026-01-31T03:00:00Z` (`+01:00` with `+` as `%2B`).',
    '2026-01-31T03:00:00Z',
  ),
  before: text('As `after`, but exclusive for times too.'),
  limit,
  cursor: text('From the previous page, with the same parameters.'),
  format: oneOf(FORMATS, {
    description:
      '`json` (default): a page. `ndjson`: the whole range as a download, one event per line.',
  }),
} satisfies QuerySchema;

/** `GET /api/bots/{id}/history`. */
export const HISTORY_QUERY = {
  field: Type.Array(Type.String(), {
    minItems: 1,
    maxItems: MAX_HISTORY_FIELDS,
    description: `What to read, at most ${MAX_HISTORY_FIELDS} of: \`status\`, \`desired\`, \`node\`, \`host\`, \`restarts\`, \`last_error\`, \`data.<name>\`, \`label.<name>\`.`,
    examples: [['data.gold']],
  }),
  after: text('A time as in `GET /api/events`. Default: an hour before `before`.'),
  before: text('A time, exclusive. Default: now.'),
  points: Type.Integer({
    ...POINTS,
    description: 'Number of equal parts of the time.',
  }),
  node: oneOf(['self'], {
    description: '`self`: only the answering node.',
  }),
} satisfies QuerySchema;

/** `GET /api/states`. */
export const STATES_QUERY = {
  at: text('The moment: a time as in `GET /api/events`. Default: now.', '2026-01-31T03:00:00Z'),
  node: oneOf(['self'], {
    description: '`self`: only the answering node.',
  }),
} satisfies QuerySchema;

/** `GET /api/stats`. */
export const STATS_QUERY = {
  after: text('A time as in `GET /api/events`. Default: an hour ago.'),
  before: text('A time, exclusive. Default: now.'),
  step: Type.Integer({
    minimum: 1,
    description:
      'Length of a bucket in s; without a `query` a multiple of 10. Default: about 300 buckets; at most 1,000.',
  }),
  query: query('Only events', 'level:warn,error label:team=a -"keep alive"'),
  node: oneOf(['self'], {
    description: '`self`: only the answering node.',
  }),
} satisfies QuerySchema;
