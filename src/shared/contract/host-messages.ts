// JSON Schemas of what a bot host says: the inputs of what it tells main, its answers, and what its process says on the other
// channels of its pipe. What comes from a process is checked against them where it enters the service (src/host-relay). Loads
// TypeBox: import the types from threads.ts.

import { ERRORS, type ErrorCode, type PlainError } from '../errors.js';
import { LAG_BOUNDS } from '../memory/loop-lag.js';
import { BOT_ID } from './bot-id.js';
import type { KindInfo, LoadedKinds } from './bots.js';
import { MAX_OFFERED_COMMANDS } from './command-messages.js';
import { freeObject, nullable, oneOf } from './json-schema.js';
import Type, { type Static } from './typebox.js';

const closed = { additionalProperties: false } as const;
/** The value of a cell of shared memory. */
const cell = Type.Integer({ minimum: -(2 ** 31), maximum: 2 ** 31 - 1 });
const natural = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const run = Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1, description: 'Number of a run.' });
const text = Type.String();
const amount = Type.Number({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** How a bot ended by itself. */
export const BotExit = Type.Object(
  {
    id: text,
    /** An exit may cross with a new start. */
    run,
    error: nullable(text, 'Why, null when its run just returned.'),
    stack: nullable(text, 'Of the error.'),
    restart: Type.Boolean({
      description: 'False when the bot itself says that starting it again is of no use.',
    }),
  },
  closed,
);
export type BotExit = Static<typeof BotExit>;

/** An error of a run that is over, in code that it has left behind. */
export const LateError = Type.Object(
  {
    id: text,
    run,
    error: text,
    isLeftOpen: Type.Optional(
      Type.Boolean({
        description:
          '`error` is what the run has left open, in words: connections, child processes.',
      }),
    ),
  },
  closed,
);
export type LateError = Static<typeof LateError>;

/** Code of a kind's module, outside of any run, has thrown: the bots of the kind on that host end with it. */
export const KindFailure = Type.Object(
  {
    kind: text,
    error: Type.String({ description: 'In a line.' }),
    bots: Type.Integer({ minimum: 0, description: 'How many end.' }),
  },
  closed,
);
export type KindFailure = Static<typeof KindFailure>;

/** A bot has been above its limits of lines or statuses for a while. */
export const BotFlood = Type.Object(
  { id: text, run, reason: Type.String({ description: 'What is skipped, in a line.' }) },
  closed,
);
export type BotFlood = Static<typeof BotFlood>;

/** A run has other commands than its kind had until now. */
export const CommandOffer = Type.Object(
  {
    kind: text,
    commands: Type.Unsafe<KindInfo['commands']>({
      type: 'object',
      maxProperties: MAX_OFFERED_COMMANDS,
      propertyNames: { pattern: BOT_ID.source },
      additionalProperties: {
        type: 'object',
        properties: { description: { type: 'string' }, args: { type: 'object' } },
        required: ['args'],
        ...closed,
      },
    }),
  },
  closed,
);
export type CommandOffer = Static<typeof CommandOffer>;

/** The part of a running bot's snapshot that its host owns. */
export const HostedState = Type.Object(
  {
    id: text,
    status: Type.String({ minLength: 1, maxLength: 64 }),
    since_ms: natural,
    data: freeObject("The bot's own."),
  },
  closed,
);
export type HostedState = Static<typeof HostedState>;

/** A file of a kind, as it was read for a version of the kind. */
export const KeptSource = Type.Object(
  {
    url: text,
    format: Type.String({ description: 'As Node names it: `module`, `commonjs`, …' }),
    text,
  },
  closed,
);
export type KeptSource = Static<typeof KeptSource>;

/** What kinds consist of. */
export const ReadFiles = Type.Object(
  {
    sources: Type.Array(KeptSource, { description: 'The files, without those of packages.' }),
    imports: Type.Unsafe<Record<string, string[]>>({
      type: 'object',
      additionalProperties: { type: 'array', items: text },
      description: 'By the URL of a module: the URLs of all files that it imports, its own first.',
    }),
  },
  closed,
);
export type ReadFiles = Static<typeof ReadFiles>;

/** Something that a kind's code has made, and that outlives its bots. */
export const LeftBehind = Type.Object(
  {
    what: Type.String({ description: 'For example `timer`.' }),
    at: nullable(text, 'File, line and column of the code that made it; null when unknown.'),
    pid: nullable(natural, 'Of a child process.'),
  },
  closed,
);
export type LeftBehind = Static<typeof LeftBehind>;

/** The shape is documented in usage.ts. */
const UsageReport = Type.Object(
  {
    ms: amount,
    uses: Type.Array(amount),
    connections: nullable(Type.Array(natural), 'Run and count.'),
    memory: nullable(Type.Array(natural), 'Run and bytes.'),
  },
  closed,
);

/** An error as it crosses a thread or a pipe. */
export const HostError = Type.Unsafe<PlainError>(
  Type.Object(
    {
      code: oneOf(Object.keys(ERRORS) as ErrorCode[]),
      message: text,
      retryAfterS: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
    },
    closed,
  ),
);

/** The answer of `load`. Other fields of a kind are passed on to clients. */
const Loaded = Type.Unsafe<LoadedKinds>({
  type: 'object',
  required: ['kinds', 'failed'],
  properties: {
    kinds: {
      type: 'array',
      items: {
        type: 'object',
        required: ['kind', 'config', 'commands'],
        properties: {
          kind: text,
          description: text,
          config: { type: 'object' },
          commands: {
            type: 'object',
            additionalProperties: {
              type: 'object',
              required: ['args'],
              properties: { description: text, args: { type: 'object' } },
            },
          },
        },
      },
    },
    failed: {
      type: 'array',
      items: {
        type: 'object',
        required: ['module', 'error'],
        properties: { module: text, error: text, helper: { type: 'boolean' } },
        ...closed,
      },
    },
  },
  ...closed,
});

/** The input of each method that a host calls. Never all together: one is checked at a time. */
export const HostTells = Type.Partial(
  Type.Object({
    awake: Type.Null(),
    exited: BotExit,
    flooded: BotFlood,
    settled: Type.Object({ run }, closed),
    used: UsageReport,
    lateError: LateError,
    offered: CommandOffer,
    kindFailed: KindFailure,
  }),
  closed,
);

/** The answer of each method that main calls; null where there is none. */
export const HostAnswers = Type.Partial(
  Type.Object({
    attachEvents: Type.Object({ bots: Type.Array(HostedState) }, closed),
    load: Loaded,
    readFiles: ReadFiles,
    start: Type.Object(
      {
        failed: Type.Unsafe<Record<number, PlainError>>({
          type: 'object',
          additionalProperties: HostError,
        }),
      },
      closed,
    ),
    stop: Type.Object({ abandoned: Type.Boolean() }, closed),
    setPermit: Type.Null(),
    attachFront: Type.Null(),
    leftBehind: Type.Array(LeftBehind),
    open: Type.Unsafe<Record<string, number>>({ type: 'object', additionalProperties: natural }),
    drill: Type.Null(),
  }),
  closed,
);

const StackFrame = Type.Object(
  { function: text, url: text, line: natural, column: natural },
  closed,
);
const int32s = (length: number) => Type.Array(cell, { minItems: length, maxItems: length });

/** Messages of the watch thread, by type (src/shared/pipe/messages.ts). */
export const HostWatch = Type.Partial(
  Type.Object({
    cells: Type.Object(
      {
        type: text,
        // Nothing in them is negative: what would be is no figure.
        heartbeat: Type.Array(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 }), {
          minItems: 6,
          maxItems: 6,
        }),
        lastRun: int32s(2),
        lag: Type.Object(
          {
            counts: Type.Array(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
              minItems: LAG_BOUNDS.length + 1,
              maxItems: LAG_BOUNDS.length + 1,
            }),
            sum: Type.Number({ minimum: 0, maximum: 1e9 }),
          },
          closed,
        ),
      },
      closed,
    ),
    captured: Type.Object(
      {
        type: text,
        id: natural,
        frames: Type.Array(StackFrame, { maxItems: 50 }),
        bot: nullable(text, 'Whose code it was.'),
      },
      closed,
    ),
    notCaptured: Type.Object({ type: text, id: natural }, closed),
  }),
  closed,
);

/** How the host's task has ended, by type. */
export const HostEnds = Type.Partial(
  Type.Object({
    done: Type.Object({ type: text }, closed),
    failed: Type.Object({ type: text, message: text, stack: nullable(text, '') }, closed),
  }),
  closed,
);
