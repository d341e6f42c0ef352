// JSON Schemas of incidents that have one cause, for `GET /api/incidents/groups`.

import { INCIDENT_TYPES } from './bots.js';
import { nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** Groups that a node keeps. One more replaces that with the oldest last incident. */
export const MAX_GROUPS = 300;
/** Bots of a group whose ids are kept; as many as one bulk action takes. */
export const MAX_GROUP_BOTS = 10_000;
/** Bots that a list names of each group. */
export const LISTED_BOTS = 5;
/** The range of a list is cut into this many steps at most. */
export const GROUP_STEPS = 48;
export const MINUTE_MS = 60_000;

/** What makes a cause; `cause` of an incident and of its group. */
export const CAUSE = '^[0-9a-f]{16}$';

const GROUP = {
  cause: '5d0c7c1b9a3f2e64',
  type: 'crash',
  title: 'connect ECONNREFUSED <address>',
  where: 'login in trader.js',
  reason: 'connect ECONNREFUSED 127.0.0.1:4000',
  count: 1204,
  bots: ['trader-7', 'trader-8', 'trader-9', 'trader-10', 'trader-11'],
  bot_count: 412,
  fallen: 0,
  first_at_ms: 1795257600123,
  last_at_ms: 1795258200456,
  latest: '01JD8Q6ZKX',
  counts: [0, 1100, 104],
};

/** Incidents that have one cause. */
export const IncidentGroup = Type.Object(
  {
    cause: Type.String({
      pattern: CAUSE,
      description:
        'A hash of the type, the message and the stack, without what varies from one failure to the next. The same on all nodes of a cluster.',
    }),
    type: oneOf(INCIDENT_TYPES, { description: 'As of an incident.' }),
    title: Type.String({
      description:
        'The message, with `<n>`, `<id>`, `<address>`, `<url>`, `<time>`, `<path>`, `<text>` and `<bot>` in the places of what varies.',
    }),
    where: nullable(
      Type.String(),
      'The innermost frame of the stack, as `<function> in <file>`. Null without a stack of the kind.',
    ),
    reason: Type.String({ description: 'Of the latest incident, as it is.' }),
    count: Type.Integer({
      minimum: 1,
      description: 'How often it happened, also when there is no incident report about it.',
    }),
    bots: Type.Array(Type.String(), {
      description: `The bots that it happened to, the first ${LISTED_BOTS} of them; with \`cause=\` all that are known, at most ${MAX_GROUP_BOTS}. The suspect, or, where none is known, all bots that ran there.`,
    }),
    bot_count: Type.Integer({
      minimum: 0,
      description: `How many those are in all, counted up to ${MAX_GROUP_BOTS}.`,
    }),
    fallen: Type.Integer({
      minimum: 0,
      description:
        'How many bots fell because their host or the service was lost, added up: also those that did not cause it.',
    }),
    first_at_ms: time('When it happened first.'),
    last_at_ms: time('When it happened last.'),
    latest: nullable(
      Type.String(),
      'The id of the latest incident report about it; null without one. It may have been removed since.',
    ),
    counts: Type.Array(Type.Integer(), {
      description:
        'How often in each step of the range. Exact to the minute for a day, then to the hour, for 30 days.',
    }),
    nodes: Type.Optional(
      Type.Array(Type.String(), { description: 'In a cluster: the nodes where it happened.' }),
    ),
  },
  { description: 'Incidents that have one cause.', examples: [GROUP] },
);
export type IncidentGroup = Static<typeof IncidentGroup>;

/** What `GET /api/incidents/groups` is asked for. */
export interface GroupQuery {
  /** Only this group, with all bots; null for all. */
  cause: string | null;
  /** The range, in ms: groups with incidents in it. */
  after: number;
  before: number;
  limit: number;
}

/** Answer of `GET /api/incidents/groups`. */
export const IncidentGroups = Type.Object(
  {
    groups: Type.Array(IncidentGroup, { description: 'The latest first.' }),
    from_ms: time('When the first step of `counts` begins.'),
    step_ms: Type.Integer({ description: 'How long each step is, in ms.' }),
    forgotten: Type.Integer({
      minimum: 0,
      description: `Groups that were dropped since the service started, because there were more than ${MAX_GROUPS}: those with the oldest last incident.`,
    }),
    missing: Type.Array(Type.String(), {
      description:
        'Nodes of a cluster whose incidents are not counted: they did not answer in time, and NATS does not have their reports.',
    }),
  },
  {
    description: 'Incidents by cause.',
    examples: [
      { groups: [GROUP], from_ms: 1795256400000, step_ms: 1800000, forgotten: 0, missing: [] },
    ],
  },
);
export type IncidentGroups = Static<typeof IncidentGroups>;
