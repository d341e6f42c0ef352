// The data of each kind of frame. Loads TypeBox: import the types from events.ts.

import { LEVELS } from './event-kinds.js';
import { freeObject, named, nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';
import { USAGE_NAMES } from './usage.js';

/** Data of a `log` frame (docs/INTERFACE.md §2.5). */
export const LogEvent = Type.Object(
  {
    timestamp_ms: time('When it happened.'),
    level: oneOf(LEVELS),
    scope: Type.String({
      description:
        'Where it comes from: `bot` (the bot itself, and main about it), `tcp`, `http`, `auth_client`, `tutorial`, `dispatch` (results of `POST /invoke`), `drover.control` (what requests do to bots; and what the service runs, at its start), `drover.config` (who has changed what of a bot; secrets are only named), `drover.rules` (a rule fires, or stops), `auth` (security events), `drover` (the service). Bots may use others.',
    }),
    session_id: nullable(Type.String(), 'The bot that it is about.'),
    transport: nullable(oneOf(['tcp', 'http']), 'Of a wire message, how it travelled.'),
    direction: nullable(oneOf(['outgoing', 'incoming']), 'Of a wire message, which way it went.'),
    correlation_id: Type.Optional(
      Type.String({
        description:
          'Of a wire message whose bot says which others it belongs to: the same for a request and its replies. Unique only within a bot, a scope, and the requests that wait at the same time.',
      }),
    ),
    message: Type.String({
      description: 'A display line; cut at 8,192 characters with a mark that says so.',
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
    kind: Type.String({ description: 'Which kind of bot; `GET /api/kinds` has them.' }),
    status: Type.String({
      description:
        "`stopped`, `starting`, `stopping`, `backoff`, `failed`, `deleted` and, in a cluster, `moved` (it left this node; not on the stream of the cluster) and `lost` (its node does not answer) are the service's; a running bot names its own, for example `in_world`.",
    }),
    desired: oneOf(['running', 'stopped'], { description: 'What is wanted of it.' }),
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
      'What it uses; null when it uses nothing, or does not run. Averages over `quota.window_ms`; changes when that is notable, at most once in 10 s.',
    ),
    over_quota: Type.Array(oneOf(USAGE_NAMES), {
      description: 'Of what it uses more than a quota of it allows. Changes with `usage`.',
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
        'The next restart of a bot in `backoff`; null otherwise. A start by hand does not wait for it. Absent on an older node of a cluster.',
      ),
    ),
    node: Type.Optional(
      Type.String({ description: 'In a cluster: the node that it was given to.' }),
    ),
    term: Type.Optional(
      Type.Integer({
        minimum: 1,
        description: 'In a cluster: grows each time that a node is given the bot.',
      }),
    ),
    failover: Type.Optional(
      oneOf(['restart', 'stay', 'bound'], {
        description:
          'In a cluster: what becomes of it when its node is lost. `restart`: another node starts it. `stay`: it waits for its node. `bound`: it waits too, because its secrets are on that node only.',
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
      'How many were lost; null if unknown: with a filter, after an id of another epoch, or when the broadcaster was replaced.',
    ),
    node: Type.Optional(
      Type.String({
        description:
          'On the stream of a cluster: the node that has lost events before they were on it. `from` and `to` are then the id of this event.',
      }),
    ),
  },
  {
    description: 'Something was lost: data of a `gap` event.',
    examples: [{ from: '0123456789-7', to: '1d0b52646d-131', dropped: null }],
  },
);
export type GapEvent = Static<typeof GapEvent>;
