// JSON Schemas of what the journal answers. Loads TypeBox: import the types from journal-messages.ts.

import { ActivityEvent, BotSnapshot, GapEvent, LogEvent, SessionEvent } from './event-schemas.js';
import { named, nullable, oneOf, time } from './json-schema.js';
import { Operation } from './operations.js';
import { AlertEvent } from './rules.js';
import Type, { type Static } from './typebox.js';

export const JOURNAL_STATES = ['off', 'opening', 'on', 'failed'] as const;

const state = oneOf(JOURNAL_STATES, {
  description:
    '`off` by configuration; `opening` while it is checked; `on`; `failed` while the service runs without it; it retries by itself.',
});
const reason = nullable(Type.String(), 'Why it has failed.');

/** The field `journal` of `GET /api/pressure`. */
export const JournalState = Type.Object(
  { state, reason },
  { description: 'Whether events are kept.' },
);

export const JournalStatus = Type.Object(
  {
    state,
    reason,
    oldest: nullable(Type.String(), 'Id of the oldest event that is there.'),
    newest: nullable(Type.String(), 'Id of the newest event that is there.'),
    bytes: Type.Integer({ description: 'Bytes that events and their index take.' }),
    lost: Type.Integer({ description: 'Events that it could not keep.' }),
    holes: Type.Integer({ description: 'In how many pieces those were.' }),
  },
  { description: 'How the journal is.' },
);
export type JournalStatus = Static<typeof JournalStatus>;

/** Answer of `GET /api/stats`, without the journal's state. */
export const StatsAnswer = Type.Object({
  step_s: Type.Integer({ description: 'Length of a bucket, in s.' }),
  buckets: Type.Array(
    Type.Object({
      at_ms: Type.Integer({ description: 'Its beginning, Unix epoch milliseconds.' }),
      events: Type.Integer(),
      per_second: Type.Number(),
      levels: named(Type.Integer(), 'Lines by level.'),
      other: Type.Integer({
        description: 'Events without a level: `session` and `gap`.',
      }),
      scopes: named(
        Type.Integer(),
        'Lines by scope: the 20 largest by name, the rest under `…`. Empty with a `query`.',
      ),
    }),
    { description: 'Ascending; those without an event are left out.' },
  ),
  counted_from_ms: Type.Optional(
    nullable(
      Type.Integer(),
      'With a `query`: the answer ended here, Unix epoch milliseconds. Ask again with it as `before` for what is earlier. Null when all is counted.',
    ),
  ),
});
export type StatsAnswer = Static<typeof StatsAnswer>;

/** A node of a cluster whose events are missing in an answer. */
export const MissingNode = Type.Object({
  node: Type.String({ description: 'Its name.' }),
  reason: Type.String({ description: 'Why, in one line.' }),
});

export type MissingNode = Static<typeof MissingNode>;

const missing = Type.Optional(
  Type.Array(MissingNode, {
    description: 'In a cluster: the nodes that did not answer, whose events are not in here.',
  }),
);

const FieldValue = Type.Union([Type.Number(), Type.String(), Type.Boolean(), Type.Null()], {
  description:
    'A value; of a list or an object its JSON; a text is cut after 200 characters. Null: the bot had no such field.',
});

const HistoryPoint = Type.Object({
  at_ms: time('When the newest of them was published.'),
  count: Type.Integer({ description: 'Snapshots of the bot that it is made from.' }),
  complete: Type.Boolean({
    description:
      'False where there were more snapshots than are read: then it has the newest of its time.',
  }),
  values: named(
    Type.Object({
      last: FieldValue,
      min: nullable(Type.Number(), 'The lowest number; null when there was none.'),
      max: nullable(Type.Number(), 'The highest number.'),
    }),
    'By field.',
  ),
});
export type HistoryPoint = Static<typeof HistoryPoint>;

/** Answer of `GET /api/bots/{id}/history`. */
export const FieldHistory = Type.Object({
  from_ms: time('Where the first part begins.'),
  step_ms: Type.Integer({ description: 'Length of a part, in ms.' }),
  before: Type.Union([HistoryPoint, Type.Null()], {
    description:
      'The last snapshot before that; null when there is none, or none within the part of the journal that is read for it.',
  }),
  points: Type.Array(HistoryPoint, {
    description: 'Ascending; parts without a snapshot are left out.',
  }),
  missing,
});
export type FieldHistory = Static<typeof FieldHistory>;

/** Answer of `GET /api/stats`, with the journal's state; in a cluster that of the answering node. */
export const Stats = Type.Object({ ...StatsAnswer.properties, journal: JournalStatus, missing });

const { id, kind, status, desired, since_ms, restarts, host, labels, node } =
  BotSnapshot.properties;

/** What a bot was at a moment: a part of its snapshot. */
export const BotState = Type.Object(
  { id, kind, status, desired, since_ms, restarts, host, labels, node },
  { description: 'What a bot was at a moment: a part of its snapshot.' },
);
export type BotState = Static<typeof BotState>;

/** Answer of `GET /api/states`. */
export const PastStates = Type.Object({
  at_ms: Type.Integer({ description: 'The moment, Unix epoch milliseconds.' }),
  known_from_ms: nullable(
    Type.Integer(),
    'From when on the states of all bots are known; null when the journal has nothing.',
  ),
  is_in_gap: Type.Boolean({
    description: 'Events are missing at this moment: the states are those from before the gap.',
  }),
  states: Type.Array(BotState, { description: 'The bots that were there, in no order.' }),
  unknown: Type.Array(Type.String(), {
    description:
      'Ids of bots whose state is not known: it was before `known_from_ms`, and they have got another since.',
  }),
  missing,
});
export type PastStates = Static<typeof PastStates>;

/** An event that was on the stream. */
export const PastEvent = Type.Union(
  (
    [
      ['log', LogEvent],
      ['session', SessionEvent],
      ['gap', GapEvent],
      ['alert', AlertEvent],
      ['activity', ActivityEvent],
      ['operation', Operation],
    ] as const
  ).map(([event, data]) =>
    Type.Object({
      id: Type.String({ description: 'As on the stream.' }),
      event: Type.Literal(event),
      data,
    }),
  ),
  { description: 'An event that was on the stream.' },
);

/** Answer of `GET /api/events`. */
export const EventPage = Type.Object({
  events: Type.Array(PastEvent),
  cursor: nullable(Type.String(), 'Where the next page continues; null at the end of the range.'),
  missing,
});
