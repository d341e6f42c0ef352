// The data of each kind of frame. Loads TypeBox: import the types from events.ts.

import { ACTIVITIES, OUTCOMES } from './activity.js';
import { LEVELS } from './event-kinds.js';
import { anyJson, freeObject, named, nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';
import { USAGE_NAMES } from './usage.js';

/** Data of a `log` frame (docs/INTERFACE.md §2.5). */
export const LogEvent = Type.Object(
  {
    timestamp_ms: time('When it happened.'),
    level: oneOf(LEVELS),
    scope: Type.String({
      description:
        'Source of the line: `bot` (the bot, and main about it), `tcp`, `http`, `auth_client`, `tutorial`, `dispatch` (results of `POST /invoke`), `drover.control` (starts of the service), `drover.rules`, `auth` (security events), `drover` (the service). Bots may use others.',
    }),
    session_id: nullable(Type.String(), 'The bot that it is about.'),
    transport: nullable(oneOf(['tcp', 'http']), 'Of a wire message.'),
    direction: nullable(oneOf(['outgoing', 'incoming']), 'Of a wire message.'),
    correlation_id: Type.Optional(
      Type.String({
        description:
          'Of a wire message, if the bot sets it: the same for a request and its replies. Unique within a bot, a scope, and the pending requests.',
      }),
    ),
    message: Type.String({
      description: 'A display line, cut at 8,192 characters with a mark.',
    }),
  },
  {
    description: 'One line of a bot or of the service: data of a `log` event.',
    examples: [
      {
        timestamp_ms: 1795257586197,
        level: 'info',
        scope: 'tcp',
        session_id: 'demo-3',
        transport: 'tcp',
        direction: 'outgoing',
        message: 'Move{x="41", y="11"}',
      },
    ],
  },
);
export type LogEvent = Static<typeof LogEvent>;

/** What a bot uses, as an average over the last window. */
export const BotUsage = Type.Object(
  {
    cpu: Type.Number({ minimum: 0, description: 'Share of a core.' }),
    memory_mb: nullable(
      Type.Number({ minimum: 0 }),
      'Heap and Buffers of its bot host in MB (2^20 bytes) when it is alone there; null for a bot that shares its host: nobody can tell its part.',
    ),
    lines_per_second: Type.Number({ minimum: 0, description: 'Its lines on the stream.' }),
    bytes_per_second: Type.Number({
      minimum: 0,
      description: 'Bytes of the messages of these lines.',
    }),
    connections: Type.Integer({
      minimum: 0,
      description: 'Open connections, servers and child processes.',
    }),
  },
  { description: 'What a bot uses.' },
);
export type BotUsage = Static<typeof BotUsage>;

/** State of one bot: body of `GET /api/bots/{id}` and `snapshot` of a `session` frame (docs/INTERFACE.md §2.6). */
export const BotSnapshot = Type.Object(
  {
    id: Type.String(),
    kind: Type.String({ description: 'See `GET /api/kinds`.' }),
    status: Type.String({
      description:
        'Set by the service: `stopped`, `starting`, `stopping`, `backoff`, `failed`, `deleted` and, in a cluster, `moved` (it left this node; not on the stream of the cluster) and `lost` (its node does not answer). A running bot sets others, for example `in_world`.',
    }),
    desired: oneOf(['running', 'stopped'], { description: 'The desired state.' }),
    since_ms: time('Since when it has this status.'),
    started_at_ms: nullable(
      Type.Integer(),
      'Start of the present run, null while it does not run. Unix epoch milliseconds.',
    ),
    restarts: Type.Integer({ minimum: 0, description: 'How often the service has restarted it.' }),
    host: nullable(Type.Integer({ minimum: 0 }), 'The bot host that runs it.'),
    last_error: nullable(Type.String(), 'Why it failed.'),
    labels: named(Type.String(), 'Given when it was added or changed.'),
    data: freeObject("The bot's own."),
    usage: nullable(
      BotUsage,
      'What it uses, averaged over 10 s; null for nothing. Published when it changes notably, at most once in 10 s.',
    ),
    over_quota: Type.Array(oneOf(USAGE_NAMES), {
      description: 'The quotas that it exceeds.',
    }),
    next_try: Type.Optional(
      nullable(
        Type.Object({
          at_ms: time('When it is due. It may have to wait longer for its turn to start.'),
          attempt: nullable(
            Type.Integer({ minimum: 1 }),
            'Which restart it is: within the window of its restart policy, or, without a limit, since its last healthy run. Null for one that does not count, because another bot broke its host.',
          ),
          limit: nullable(
            Type.Integer({ minimum: 0 }),
            'The most that there are within the window. Null without a limit.',
          ),
        }),
        'The next restart of a bot in `backoff`, otherwise null. Absent on an older node of a cluster.',
      ),
    ),
    version: Type.Optional(
      nullable(
        Type.String(),
        'The version of its kind that it runs, null while it does not run. Absent on an older node of a cluster.',
      ),
    ),
    node: Type.Optional(Type.String({ description: 'In a cluster: the node it is assigned to.' })),
    term: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'In a cluster: grows with each assignment to a node.',
      }),
    ),
    failover: Type.Optional(
      oneOf(['restart', 'stay', 'bound'], {
        description:
          'In a cluster, when its node is lost: `restart` on another node, `stay` until the node returns, or `bound`: it stays because only that node has its secrets.',
      }),
    ),
    fleet: Type.Optional(Type.String({ description: 'The fleet that it belongs to.' })),
    drift: Type.Optional(
      Type.Literal(true, {
        description: 'It was changed by hand since the file of its fleet was applied.',
      }),
    ),
  },
  {
    description: 'The state of one bot.',
    examples: [
      {
        id: 'demo-1',
        kind: 'demo',
        status: 'in_world',
        desired: 'running',
        since_ms: 1795257552692,
        started_at_ms: 1795257552539,
        restarts: 0,
        host: 0,
        last_error: null,
        labels: { demo: 'true' },
        data: { x: 94, y: 49 },
        usage: {
          cpu: 0.012,
          memory_mb: null,
          lines_per_second: 4.5,
          bytes_per_second: 410,
          connections: 1,
        },
        over_quota: [],
        next_try: null,
      },
    ],
  },
);
export type BotSnapshot = Static<typeof BotSnapshot>;

/** Data of a `session` frame (docs/INTERFACE.md §2.6). */
export const SessionEvent = Type.Object(
  { snapshot: BotSnapshot },
  { description: 'A bot has changed: data of a `session` event.' },
);
export type SessionEvent = Static<typeof SessionEvent>;

/** Data of a `gap` frame. */
export const GapEvent = Type.Object(
  {
    from: Type.String({
      description: 'Id of the first lost event, or the id that cannot be resumed.',
    }),
    to: Type.String({ description: 'Id of the last lost event.' }),
    dropped: nullable(
      Type.Integer({ minimum: 0 }),
      'How many were lost; null if unknown (a filter, another epoch, a new broadcaster).',
    ),
    node: Type.Optional(
      Type.String({
        description:
          'In a cluster: the node that lost events before they were on the stream; `from` and `to` are then the id of this event.',
      }),
    ),
  },
  {
    description: 'Something was lost: data of a `gap` event.',
    examples: [{ from: '0123456789-7', to: '1d0b52646d-131', dropped: null }],
  },
);
export type GapEvent = Static<typeof GapEvent>;

const Changes = named(
  Type.Object({
    from: Type.Optional(anyJson('Absent: it was not there.')),
    to: Type.Optional(anyJson('Absent: it is not there any more.')),
  }),
  'Values before and after, by name.',
);

/** What was changed of a bot. The history of a configuration is built from these. */
export const BotChange = Type.Object({
  config: Type.Optional(Changes),
  labels: Type.Optional(Changes),
  restart: Type.Optional(Changes),
  placement: Type.Optional(Changes),
  secrets: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Paths of the secrets that were set, replaced or removed. Their values are nowhere.',
    }),
  ),
  cut: Type.Optional(
    Type.Literal(true, {
      description: 'The values are longer than 8,192 characters, and left out.',
    }),
  ),
});
export type BotChange = Static<typeof BotChange>;

/** Data of an `activity` frame. */
export const ActivityEvent = Type.Object(
  {
    timestamp_ms: time('When it was over.'),
    activity: oneOf(ACTIVITIES),
    actor: nullable(
      Type.String(),
      'The name of the token that was used; null for a sign-in that was refused.',
    ),
    token: nullable(Type.String(), 'Id of this token.'),
    address: nullable(Type.String(), 'Where the request came from.'),
    client: nullable(Type.String(), 'What its `User-Agent` claims to be, in short.'),
    session_id: nullable(
      Type.String(),
      'The bot that it was done to. A request for many bots is an event for each of them.',
    ),
    target: nullable(
      Type.String(),
      'What else it was done to: a rule, a token, a kind, a node; of `bot.move`, the node to which; of `fleet.apply`, the fleet.',
    ),
    operation: nullable(
      Type.String(),
      'Of a request for many bots: the id of its operation. Commands to many bots are no operation, and have another id. Null for a request for one bot.',
    ),
    outcome: oneOf(OUTCOMES, {
      description:
        '`refused`: the actor may not do it. At most 20 refusals a minute of one token or address are on the stream.',
    }),
    error: nullable(Type.String(), 'Why it was not done, in one line.'),
    took_ms: Type.Integer({
      minimum: 0,
      description: 'How long the request took; in an operation, this bot.',
    }),
    detail: nullable(
      Type.Object({
        command: Type.Optional(
          Type.String({ description: 'Of `command`, without its arguments.' }),
        ),
        change: Type.Optional(BotChange),
        scopes: Type.Optional(
          Type.Array(Type.String(), { description: 'Of a token or sign-in link.' }),
        ),
      }),
      'More about it.',
    ),
  },
  {
    description: 'What a person or program has done through the API, or could not.',
    examples: [
      {
        timestamp_ms: 1795257586197,
        activity: 'bot.restart',
        actor: 'Ada',
        token: '0a3c5f8e-6a0e-4d5f-8f0c-1f6a2f0c9b7d',
        address: '192.0.2.7',
        client: 'Firefox on Linux',
        session_id: 'demo-3',
        target: null,
        operation: null,
        outcome: 'done',
        error: null,
        took_ms: 204,
        detail: null,
      },
    ],
  },
);
export type ActivityEvent = Static<typeof ActivityEvent>;
