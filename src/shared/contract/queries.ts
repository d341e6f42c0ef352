// Imported by the fronts. Owns the schemas of query strings: which parameters a route takes, and their bounds. The code that
// reads them and their description (src/front/reference) both go by these.

import { oneOf } from './json-schema.js';
import Type, { type TSchema } from './typebox.js';

export const LIMIT = { minimum: 1, maximum: 1000, default: 100 } as const;
export const MAX_TEXT = 1000;
export const ORDERS = ['newest', 'oldest'] as const;
export const FORMATS = ['json', 'ndjson'] as const;
/** Steps of `GET /api/stats` are multiples of this, in s. */
export const STEP_S = 10;

/** What a route takes behind the `?`; each parameter may be left out. */
export type QuerySchema = Readonly<Record<string, TSchema>>;

/** Several values: comma-separated, repeated, or both. */
const list = (description: string, example: string[]): TSchema =>
  Type.Array(Type.String(), { description, examples: [example] });
const text = (description: string, example?: string): TSchema =>
  Type.String({ description, ...(example === undefined ? {} : { examples: [example] }) });
const limit = Type.Integer({ ...LIMIT, description: 'How many, at most.' });

const FILTERS = {
  kind: list('Kinds of events: `log`, `session`.', ['log']),
  level: list('Levels of lines: `info`, `warn`, `error`, `state`.', ['warn', 'error']),
  session: list('Ids of bots.', ['demo-1']),
  scope: list('Scopes of lines.', ['tcp']),
};

/** `GET /events`. */
export const STREAM_QUERY = {
  ...FILTERS,
  snapshot: text('`0` leaves out the snapshots at the beginning.'),
  last_event_id: text(
    'As the header `Last-Event-ID`; the header counts when both are there. What is no id is ignored.',
    '1d0b52646d-119',
  ),
} satisfies QuerySchema;

/** `GET /api/bots`. */
export const BOTS_QUERY = {
  status: list('Only bots with this status.', ['in_world']),
  kind: list('Only bots of this kind.', ['demo']),
} satisfies QuerySchema;

/** `GET /api/incidents` and `GET /api/bots/{id}/incidents`. */
export const INCIDENTS_QUERY = { limit } satisfies QuerySchema;

/** `GET /api/events`. */
export const EVENTS_QUERY = {
  ...FILTERS,
  order: oneOf(ORDERS, {
    description: '`newest` first, or `oldest` first, which is the default of a download.',
  }),
  after: text(
    'An id (exclusive), or a time (inclusive): Unix epoch milliseconds or a date.',
    '2026-01-31T03:00:00Z',
  ),
  before: text('The same, exclusive.'),
  q: Type.String({
    maxLength: MAX_TEXT,
    description: 'Text in the message, in whatever case.',
  }),
  limit,
  cursor: text('From the last page, with the same parameters.'),
  format: oneOf(FORMATS, {
    description:
      '`json`, a page, when left out. `ndjson`: the whole range as a download, one event on a line.',
  }),
} satisfies QuerySchema;

/** `GET /api/stats`. */
export const STATS_QUERY = {
  after: text('Unix epoch milliseconds or a date; an hour ago when left out.'),
  before: text('The same; now when left out.'),
  step: Type.Integer({
    minimum: STEP_S,
    multipleOf: STEP_S,
    description: 'Length of a bucket in s, a multiple of 10.',
  }),
} satisfies QuerySchema;
