// JSON Schemas of bots, their kinds, actions and incidents.

import { BOT_ID } from './bot-id.js';
import { ONLY_VISIBLE } from './escapes.js';
import type { JsonObject } from './json.js';
import { freeObject, named, nullable, oneOf, time } from './json-schema.js';
import { NODE_NAME } from './node-name.js';
import { Operation, operationOptions } from './operations.js';
import { MAX_QUERY } from './query-bounds.js';
import type { Quota, QuotaLimit } from './quota.js';
import Type, { type Static, type TSchema } from './typebox.js';

const closed = { additionalProperties: false };

/**
 * Free labels of a bot. Bounded so that a snapshot always fits a frame: at most 27 KB here as JSON, 16 KB of data, 6 KB
 * of last error.
 */
export const Labels = Type.Record(
  Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$' }),
  Type.String({ maxLength: 128, pattern: ONLY_VISIBLE }),
  {
    maxProperties: 32,
    additionalProperties: false,
    description:
      'At most 32. Names: 1 to 63 letters, digits, `.`, `-`, `_` or `/`. Values: at most 128 characters, none of them control or direction characters.',
  },
);

/** When a bot that ended by itself is restarted. */
export const RestartPolicy = Type.Object(
  {
    policy: Type.Union(
      [Type.Literal('always'), Type.Literal('on-failure'), Type.Literal('never')],
      {
        description:
          '`on-failure`: when it threw, could not be started, or is suspected of the loss of its host; `always`: also when its run returned. Under every policy a bot is restarted when another bot broke its host, and is not when it was stopped by hand or says that a restart is useless.',
      },
    ),
    max_restarts: Type.Union([Type.Integer({ minimum: 0, maximum: 1000 }), Type.Null()], {
      description:
        'Restarts within window_ms before the bot has failed; null for no limit. A start by hand resets the count.',
    }),
    window_ms: Type.Integer({
      minimum: 1000,
      description: 'Length of the sliding window of max_restarts, in ms.',
    }),
    backoff_ms: Type.Integer({
      minimum: 0,
      description:
        'Longest wait before the first restart, in ms; doubled for each further one. Waits are a random half to whole of it.',
    }),
    backoff_cap_ms: Type.Integer({
      minimum: 0,
      description: 'Longest wait of all, in ms.',
    }),
    healthy_ms: Type.Integer({
      minimum: 0,
      description: 'A run of at least this long, in ms, resets the wait to backoff_ms.',
    }),
  },
  closed,
);
export type RestartPolicy = Static<typeof RestartPolicy>;

/** What a bot host runs in: a thread of the service, or a process. */
export const ISOLATIONS = ['thread', 'process'] as const;
export type Isolation = (typeof ISOLATIONS)[number];
export const IsolationSchema = oneOf(ISOLATIONS, {
  description:
    'What its host is: a thread of the service, or a process, which can crash alone. Default: as configured.',
});

/** Bots with the same group share a host. */
export const HostGroup = Type.String({
  pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  description:
    'Bots of a group share a bot host with no others. 1 to 64 letters, digits, dots, dashes or underscores; not together with `dedicated`.',
});

/** On which node of a cluster a bot is to run. */
export const BotNode = Type.String({
  pattern: NODE_NAME.source,
  description: 'The node of the cluster that runs it. Not together with `node_labels`.',
});
export const NodeLabels = {
  ...Labels,
  description:
    'Labels of the nodes of the cluster that may run it; the one with the most room does.',
} as typeof Labels;

/** Whether a bot of a lost node restarts elsewhere or waits for its node. */
export const FAILOVERS = ['restart', 'stay'] as const;
export type Failover = (typeof FAILOVERS)[number];
export const FailoverSchema = oneOf(FAILOVERS, {
  description:
    'When its node of the cluster is lost: `restart` on another node, or `stay`; then the node keeps running it while cut off.',
});

const limit = (figure: TSchema, description: string) =>
  Type.Unsafe<QuotaLimit>({
    anyOf: [
      figure,
      {
        type: 'object',
        properties: { soft: figure, hard: figure },
        additionalProperties: false,
        minProperties: 1,
      },
      { type: 'null' },
    ],
    description,
  });
const whole = Type.Integer({ minimum: 0 });

/** How much of each a bot may use. */
export const quotaLimits = {
  cpu: limit(
    Type.Number({ exclusiveMinimum: 0, maximum: 256 }),
    'Share of a core that one bot may use: a number (hard quota), `{"soft": …, "hard": …}`, or null for none.',
  ),
  memory_mb: limit(
    Type.Integer({ minimum: 1 }),
    'The same for the memory of its bot host, in MB, while it is alone there.',
  ),
  lines_per_second: limit(whole, 'The same for its lines on the stream, on average.'),
  bytes_per_second: limit(whole, 'The same for the bytes of the messages of these lines.'),
  connections: limit(whole, 'The same for its open connections, servers and child processes.'),
};

/** The bot's own quota, for figures that differ from `quota` of the configuration. */
export const BotQuota = Type.Unsafe<Quota>({
  type: 'object',
  properties: quotaLimits,
  additionalProperties: false,
  description:
    'Overrides `quota` of the configuration: `cpu`, `memory_mb`, `lines_per_second`, `bytes_per_second`, `connections`. Each is a number (hard quota), `{"soft": …, "hard": …}`, or null for none. Needs the scope `admin`.',
});

/** A bot as it is stored, in memory and on disk. */
export interface BotSpec {
  id: string;
  kind: string;
  config: JsonObject;
  labels: Record<string, string>;
  desired: 'running' | 'stopped';
  restart: RestartPolicy;
  /** Whether it has its own host. */
  dedicated: boolean;
  /** Absent: as the configuration says for its kind. */
  isolation?: Isolation | undefined;
  /** The bots with which it shares a host. */
  host_group?: string | undefined;
  /** Left out when only the service's quota applies. */
  quota?: Quota;
  /** The node that it names, if one. */
  node?: string | undefined;
  /** Labels of the nodes that it names, if any. */
  node_labels?: Record<string, string> | undefined;
  /** Absent: `restart`. */
  failover?: Failover | undefined;
  /** What the last rollout has changed of it. Absent when none has, or when that was undone. */
  rollout?: BotRollout;
  /** In a cluster: grows with each assignment to a node. What an older term says or does counts no more. */
  term?: number;
  /** The fleet that it belongs to. */
  fleet?: FleetMark | undefined;
  /** Random; distinguishes the bot from earlier ones with the same id. Bots stored by the first versions have none. */
  incarnation?: string;
}

/** What a rollout has changed of a bot. */
export interface BotRollout {
  /** Of its operation. It may have given the bot a version (KindVersions). */
  id: string;
  /** The rollout that had changed the bot before; null for none. */
  before: string | null;
  /** Merged into the configuration, it undoes the change. */
  undo?: JsonObject;
}

/** What a bot keeps of its fleet. The applied values themselves are not kept: its secrets would be stored twice. */
export interface FleetMark {
  name: string;
  /**
   * What was changed by hand since: by path, such as `config.url`, a digest of the value that the fleet had given, or '' for
   * a secret, of which none is kept. Bounded by MAX_DRIFT of fleet-mark.ts.
   */
  drift?: Record<string, string>;
}

/** Actions on many bots at once. */
export const BOT_ACTIONS = ['start', 'stop', 'restart', 'delete'] as const;
export type BotAction = (typeof BOT_ACTIONS)[number];
/** Actions that end the run of a bot, and so its cost. */
export type EndingAction = Extract<BotAction, 'stop' | 'delete'>;

const botFields = {
  kind: Type.String({ description: 'Which kind of bot.' }),
  config: Type.Record(Type.String(), Type.Unknown(), {
    default: {},
    description: "The bot's configuration, by its kind's schema.",
  }),
  labels: { ...Labels, default: {} } as typeof Labels,
  restart: Type.Optional(
    Type.Partial(RestartPolicy, {
      ...closed,
      description: 'Overrides `restart` of the configuration.',
    }),
  ),
  dedicated: Type.Boolean({
    default: false,
    description: 'Give the bot its own host.',
  }),
  isolation: Type.Optional(IsolationSchema),
  host_group: Type.Optional(HostGroup),
  quota: Type.Optional(BotQuota),
  node: Type.Optional(BotNode),
  node_labels: Type.Optional(NodeLabels),
  failover: Type.Optional(FailoverSchema),
};

/** Body of `POST /api/bots`, and an entry of `bots` in the configuration. */
export const CreateBotBody = Type.Object(
  {
    id: Type.String({
      pattern: BOT_ID.source,
      description:
        'Unique. 1 to 64 letters, digits, dots, dashes or underscores; starts with a letter or digit.',
    }),
    ...botFields,
    desired: Type.Union([Type.Literal('running'), Type.Literal('stopped')], {
      default: 'running',
      description: 'Whether it starts at once.',
    }),
  },
  closed,
);
export type CreateBotBody = Static<typeof CreateBotBody>;

/** Body of `PATCH /api/bots/{id}`: what is left out stays; `config` is merged, and null removes a key; `labels` and `quota` are replaced. */
export const UpdateBotBody = Type.Object(
  {
    config: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    labels: Type.Optional(Labels),
    restart: Type.Optional(Type.Partial(RestartPolicy, closed)),
    isolation: Type.Optional(
      nullable(IsolationSchema, 'null: as the configuration says for its kind.'),
    ),
    host_group: Type.Optional(nullable(HostGroup, 'null: none.')),
    quota: Type.Optional(BotQuota),
    node: Type.Optional(nullable(BotNode, 'null: any node. The bot moves if it has to.')),
    node_labels: Type.Optional(nullable(NodeLabels, 'null: any node.')),
    failover: Type.Optional(FailoverSchema),
  },
  { ...closed, minProperties: 1 },
);
export type UpdateBotBody = Static<typeof UpdateBotBody>;

/** Body of `POST /api/bots/{id}/move`. */
export const MoveBotBody = Type.Object(
  {
    node: Type.String({
      pattern: NODE_NAME.source,
      description: 'The node of the cluster that is to have it.',
    }),
  },
  closed,
);
export type MoveBotBody = Static<typeof MoveBotBody>;

/** Body of `POST /api/bots/actions`: bots that match everything that is given. */
export const BotActionsBody = Type.Object(
  {
    action: Type.Unsafe<BotAction>(Type.Union(BOT_ACTIONS.map((action) => Type.Literal(action)))),
    ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 10_000 })),
    // Not empty, because that would select every bot.
    labels: Type.Optional({ ...Labels, minProperties: 1 } as typeof Labels),
    query: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_QUERY,
        description: 'Bots that match a query (docs/QUERY.md).',
      }),
    ),
    ...operationOptions,
  },
  {
    ...closed,
    anyOf: [{ required: ['ids'] }, { required: ['labels'] }, { required: ['query'] }],
  },
);
export type BotActionsBody = Static<typeof BotActionsBody>;

/** One frame of a stack. */
export const StackFrame = Type.Object({
  function: Type.String(),
  url: Type.String(),
  line: Type.Integer(),
  column: Type.Integer(),
});
export type StackFrame = Static<typeof StackFrame>;

/** Types of incidents. */
export const INCIDENT_TYPES = [
  'crash',
  'hang',
  'out_of_memory',
  'host_lost',
  'overdue',
  'failed',
  'kind_quarantined',
  'unclean_end',
  'node_lost',
  'flood',
  'over_quota',
] as const;

/** What was found when a bot or a host broke: collected before anything is killed, kept for `GET /api/incidents`. */
export const Incident = Type.Object(
  {
    id: Type.String(),
    at_ms: time('When it happened.'),
    type: oneOf(INCIDENT_TYPES, {
      description:
        "`crash`: a bot threw. `hang`: a host's loop was stuck. `out_of_memory`, `host_lost`: the host's thread ended. `overdue`: a run did not end when it was to, and its host was replaced. `failed`: a bot is not started again, and what it ended with last is no crash: its run returned, or it could not be started. `kind_quarantined`: the code of a bot kind broke hosts outside of any bot; new hosts do not load it, and its bots fail. `unclean_end`: the run of the service before this one was killed or crashed; `bots` are those that were meant to run. `node_lost`: the lease of a node of a cluster has run out; `bots` are those that it had. `flood`: for ten seconds a bot was above its limits of lines or statuses. `over_quota`: a bot was stopped because it used more than its hard quota on its own host, too.",
    }),
    reason: Type.String(),
    cause: Type.String({
      description:
        'The same for incidents with the same type, message and stack, without what varies: `GET /api/incidents/groups`.',
    }),
    suspect: nullable(
      Type.String(),
      'The bot that did it, as far as can be told; `reason` says how it is known.',
    ),
    host: nullable(Type.Integer(), 'The bot host.'),
    node: Type.Optional(Type.String({ description: 'In a cluster: the node of that host.' })),
    bots: Type.Array(Type.String(), {
      description: 'The bots that were running on that host, the first 200 of them.',
    }),
    bot_count: Type.Integer({ description: 'How many those were in all.' }),
    stack: Type.Union([Type.Array(StackFrame), Type.String(), Type.Null()]),
    exit: Type.Optional(
      Type.Object(
        {
          code: nullable(Type.Integer(), 'Null when a signal has ended it.'),
          signal: nullable(Type.String(), 'Such as `SIGSEGV`.'),
        },
        { description: 'How the process of the host has ended. Absent for a host in a thread.' },
      ),
    ),
    stderr: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'The last lines of its standard error, oldest first, at most 40 of 500 characters. Absent for a host in a thread.',
      }),
    ),
    heap: nullable(
      Type.Object({
        used: Type.Integer({ description: 'Bytes.' }),
        limit: Type.Integer({ description: 'Bytes.' }),
      }),
      'What the host used, Buffers too, and may use, as of its last heartbeat.',
    ),
    last_lines: Type.Array(Type.String(), {
      description:
        "The suspect's last lines, oldest first; without a suspect those of the whole host's bots.",
    }),
    last_lines_at_ms: Type.Array(Type.Integer(), {
      description:
        'When each of `last_lines` was written. Unix epoch milliseconds. Empty in reports of earlier versions.',
    }),
    last_commands: Type.Array(Type.String(), {
      description: 'Commands to these bots that were running or ran last, oldest first.',
    }),
    repeats: Type.Integer({
      description:
        'How often the same happened again shortly after, without its own incident report.',
    }),
    repeated_at_ms: nullable(Type.Integer(), 'When the last time was. Unix epoch milliseconds.'),
  },
  { description: 'What was found when a bot or a host broke.' },
);
export type Incident = Static<typeof Incident>;

/** Body of `GET /api/bots/{id}/config`. */
export const BotConfig = Type.Object(
  {
    config: freeObject(
      "By the kind's schema, defaults filled in; what that marks as `writeOnly` is left out.",
    ),
    secrets: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'What is left out and has a value, as paths with dots. Missing when the bot is on a node of a cluster that does not say it.',
      }),
    ),
    restart: RestartPolicy,
    dedicated: Type.Boolean({ description: 'It has its own host.' }),
    isolation: IsolationSchema,
    host_group: nullable(HostGroup, 'With which bots it shares a host; null for none.'),
    quota: BotQuota,
    node: Type.Optional(BotNode),
    node_labels: Type.Optional(NodeLabels),
    failover: Type.Optional(FailoverSchema),
    fleet: Type.Optional(
      nullable(
        Type.Object({
          name: Type.String(),
          drift: Type.Array(Type.String(), {
            description:
              'What was changed by hand since the file of the fleet was applied, as paths with dots.',
          }),
        }),
        'The fleet that it belongs to; null for none. Absent on an older node of a cluster.',
      ),
    ),
  },
  { description: 'The configuration of a bot.' },
);
export type BotConfig = Static<typeof BotConfig>;

/** A bot of an incident, as it was then: decides who may read the incident. Never shown. */
export interface IncidentBot {
  id: string;
  /** {@link BotSpec.incarnation}, or ''. */
  incarnation: string;
  labels: Readonly<Record<string, string>>;
}

/** An incident with who its bots were. */
export interface IncidentReport {
  incident: Incident;
  identities: IncidentBot[];
}

/** The description of a bot kind; `config` and `args` are JSON Schemas. */
export const KindInfo = Type.Object(
  {
    kind: Type.String(),
    description: Type.String(),
    config: freeObject('JSON Schema of the configuration.'),
    ready: Type.Optional(
      Type.String({ description: 'The status in which a bot is ready, for rollouts.' }),
    ),
    commands: named(
      Type.Object({
        description: Type.String(),
        args: freeObject('JSON Schema of the arguments.'),
      }),
      'By name.',
    ),
  },
  { description: 'A kind of bot.' },
);
export type KindInfo = Static<typeof KindInfo>;

/** What a host has loaded. */
export const LoadedKinds = Type.Object({
  kinds: Type.Array(KindInfo),
  failed: Type.Array(
    Type.Object({
      module: Type.String(),
      error: Type.String(),
      helper: Type.Optional(
        Type.Boolean({ description: 'It loads and is no kind: perhaps a file that kinds import.' }),
      ),
    }),
    { description: 'Modules that are no kinds or do not load, with the reason in one line.' },
  ),
});
export type LoadedKinds = Static<typeof LoadedKinds>;

/** Why a kind is quarantined. */
export const KindHold = Type.Object({
  since_ms: time('Since when.'),
  reason: Type.String({ description: 'How its code broke a bot host, in one line.' }),
});
export type KindHold = Static<typeof KindHold>;

/** A version of a kind that bots run, or with which they start. */
export const ListedVersion = Type.Object({
  version: Type.String({
    description:
      'Hash of its files and of what they import: of packages the name and version, of a program the command and the files that it names.',
  }),
  package: nullable(Type.String(), '`<name>@<version>` of the package that it is part of.'),
  is_current: Type.Boolean({ description: 'Bots start with it.' }),
  bots: Type.Integer({ minimum: 0, description: 'How many run it.' }),
});
export type ListedVersion = Static<typeof ListedVersion>;

/** A kind in the answer of `GET /api/kinds`. */
export const ListedKind = Type.Object(
  {
    ...KindInfo.properties,
    quarantine: nullable(
      KindHold,
      'Set while new bot hosts do not load the kind and its bots are not started. Null otherwise.',
    ),
    changed: Type.Boolean({
      description:
        'A file of the current version has changed on the disk. The change takes effect when the kind is reloaded, or the service is started again.',
    }),
    versions: Type.Array(ListedVersion, {
      description: 'The current version first, then the others that bots run.',
    }),
  },
  { description: 'A kind of bot, and whether its bots can run.' },
);
export type ListedKind = Static<typeof ListedKind>;

/** Answer of `GET /api/kinds`. */
export const KindList = Type.Object({
  kinds: Type.Array(ListedKind),
  failed: LoadedKinds.properties.failed,
});
export type KindList = Static<typeof KindList>;

/** Answer of `POST /api/kinds/{kind}/release`. */
export const KindReleased = Type.Object({
  started: Type.Integer({ description: 'How many bots are started again.' }),
  missing: Type.Array(Type.String(), {
    description:
      'Nodes of a cluster that may still hold the kind, because they did not answer in time.',
  }),
});
export type KindReleased = Static<typeof KindReleased>;

/** Names of what a new version has more, less, or in another way. */
const Difference = Type.Object({
  added: Type.Array(Type.String()),
  removed: Type.Array(Type.String()),
  changed: Type.Array(Type.String()),
});
export type Difference = Static<typeof Difference>;

/** What a reload has changed of a kind. */
export const ReloadedKind = Type.Object({
  kind: Type.String(),
  version: Type.String({ description: 'The version with which its bots start from now on.' }),
  before: nullable(Type.String(), 'The one until now, which may be the same; null for a new kind.'),
  files: { ...Difference, description: 'By their paths, seen from the module of the kind.' },
  config: { ...Difference, description: 'Keys of the configuration.' },
  commands: Difference,
  bots: Type.Integer({ minimum: 0, description: 'How many of its bots run another version.' }),
  released: Type.Integer({
    minimum: 0,
    description: 'How many bots start again: a new version ends the quarantine of its kind.',
  }),
});
export type ReloadedKind = Static<typeof ReloadedKind>;

/** Answer of `POST /api/kinds/reload`. */
export const ReloadedKinds = Type.Object({
  kinds: Type.Array(ReloadedKind, { description: 'Those that were read again.' }),
  failed: LoadedKinds.properties.failed,
  nodes: Type.Optional(
    named(
      Type.Object({
        versions: Type.Optional(named(Type.String(), 'By kind.')),
        error: Type.Optional(Type.String({ description: 'Why it has changed nothing.' })),
      }),
      'In a cluster: what the other nodes have read. By node.',
    ),
  ),
});
export type ReloadedKinds = Static<typeof ReloadedKinds>;

/** The outcome of an action on one of many bots. */
export const ActionOutcome = Type.Union([
  Type.Object({ status: Type.String({ description: "The bot's status after it." }) }),
  Type.Object({ error: Type.String() }),
]);
export type ActionOutcome = Static<typeof ActionOutcome>;

/** Body of `POST /api/bots/actions`'s answer. */
export const ActionResults = Type.Object({
  results: named(ActionOutcome, 'By bot.'),
  operation: Operation,
});
export type ActionResults = Static<typeof ActionResults>;
