// JSON Schemas of operations: what is done to many bots at once.

import { nullable, oneOf, time } from './json-schema.js';
import {
  BOT_RESULTS,
  type BotResult,
  MAX_PARALLEL,
  MAX_STAGGER_MS,
  OPERATION_STATES,
  OPERATION_TYPES,
} from './operation-bounds.js';
import Type, { type Static } from './typebox.js';

/** How an operation goes through its bots. Fields of a request. */
export const operationOptions = {
  parallel: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_PARALLEL,
      description: `How many bots at once. Default: ${MAX_PARALLEL}.`,
    }),
  ),
  stagger_ms: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_STAGGER_MS,
      description: 'Least time between the beginnings of two bots, in ms. Default: 0.',
    }),
  ),
  max_failed: Type.Optional(
    nullable(
      Type.Integer({ minimum: 0 }),
      'No further bots are begun once more than this many have failed. Default: null, no limit.',
    ),
  ),
};

export const OperationOptions = Type.Object({
  parallel: Type.Integer({ description: 'How many bots at once.' }),
  stagger_ms: Type.Integer({ description: 'Least time between the beginnings of two bots.' }),
  max_failed: nullable(Type.Integer(), 'How many bots may fail; null for any number.'),
});
export type OperationOptions = Static<typeof OperationOptions>;

const count = (description: string) => Type.Integer({ minimum: 0, description });

export const OperationCounts = Type.Object({
  waiting: count('Not begun yet.'),
  running: count('Begun.'),
  done: count('Done.'),
  failed: count('Not done, with an error.'),
  skipped: count('Not begun, because the operation ended before.'),
  unknown: count('The service ended before it had stored what became of them.'),
} satisfies Record<BotResult, unknown>);
export type OperationCounts = Static<typeof OperationCounts>;

/** What an operation of the type `rollout` is about. */
export const Rollout = Type.Object({
  kind: nullable(
    Type.String(),
    'The kind whose version changes; null when only configurations do.',
  ),
  version: nullable(Type.String(), 'The version that bots get.'),
  before: nullable(Type.String(), 'The version with which bots of the kind started before.'),
  is_whole: Type.Boolean({
    description: 'All bots of the kind: at its end, bots start with the version.',
  }),
  config: Type.Array(Type.String(), { description: 'Keys of the configuration that change.' }),
  canary: Type.Integer({ minimum: 0 }),
  promote_after_ms: nullable(Type.Integer(), 'Null: until somebody promotes it.'),
  healthy_ms: Type.Integer(),
  ready: nullable(Type.String(), 'The status in which bots of the kind are ready.'),
  waits: Type.Boolean({ description: 'The canaries are healthy, and it waits to be promoted.' }),
  is_promoted: Type.Boolean(),
  undoes: nullable(Type.String(), 'Id of the rollout that it takes back.'),
  undone_by: nullable(Type.String(), 'Id of the rollout that takes it back.'),
});
export type Rollout = Static<typeof Rollout>;

/** An operation, without its bots: data of an `operation` frame. */
export const Operation = Type.Object(
  {
    id: Type.String({ description: 'Also `operation` of the activities of its bots.' }),
    type: oneOf(OPERATION_TYPES),
    title: Type.String({ description: 'What it does, in one line.' }),
    state: oneOf(OPERATION_STATES, {
      description:
        '`waiting`: not begun. `paused`: begins no further bot until it is resumed. `canceling`, `stopping`: begins no further bot; those that are running end. `done`: every bot was begun and has ended. `canceled`: by a request. `stopped`: too many bots have failed. `interrupted`: the service ended before it.',
    }),
    reason: nullable(Type.String(), 'Why it was canceled, stopped or interrupted.'),
    actor: Type.Object({
      name: Type.String({ description: 'The name of the token that began it.' }),
      token: Type.String({ description: 'Id of this token.' }),
    }),
    began_ms: time('When it was asked for.'),
    ended_ms: nullable(
      Type.Integer(),
      'When it ended, null before. Unix epoch milliseconds. It is kept for a day after that.',
    ),
    options: OperationOptions,
    bots: count('Its bots.'),
    counts: OperationCounts,
    rollout: Type.Optional(Rollout),
    node: Type.Optional(Type.String({ description: 'In a cluster: the node that works on it.' })),
  },
  {
    description: 'Something that is done to many bots.',
    examples: [
      {
        id: '0mig4r9w0-5c1f0a2b',
        type: 'action',
        title: 'restart 250 bots',
        state: 'running',
        reason: null,
        actor: { name: 'Ada', token: '0a3c5f8e-6a0e-4d5f-8f0c-1f6a2f0c9b7d' },
        began_ms: 1795257586197,
        ended_ms: null,
        options: { parallel: 20, stagger_ms: 100, max_failed: 5 },
        bots: 250,
        counts: { waiting: 180, running: 20, done: 49, failed: 1, skipped: 0, unknown: 0 },
      },
    ],
  },
);
export type Operation = Static<typeof Operation>;

/** What has become of one bot. */
export const OperationBot = Type.Object({
  id: Type.String(),
  result: oneOf(BOT_RESULTS),
  status: nullable(Type.String(), 'Of one that is `done`: the status of the bot right after it.'),
  error: nullable(Type.String(), 'Why it has failed or was skipped, in one line.'),
  began_ms: nullable(Type.Integer(), 'Unix epoch milliseconds.'),
  ended_ms: nullable(Type.Integer(), 'Unix epoch milliseconds.'),
});
export type OperationBot = Static<typeof OperationBot>;

/** Answer of `GET /api/operations/{id}/bots`. */
export const OperationBots = Type.Object({
  bots: Type.Array(OperationBot),
  next: nullable(Type.String(), '`cursor` of the next page; null after the last one.'),
});
export type OperationBots = Static<typeof OperationBots>;

/** Answer of `GET /api/operations`. */
export const OperationList = Type.Object({
  operations: Type.Array(Operation),
  missing: Type.Optional(
    Type.Array(Type.String(), {
      description: 'In a cluster: nodes whose operations are not known.',
    }),
  ),
});
export type OperationList = Static<typeof OperationList>;

/** Answer of a request that began an operation which has not ended yet. */
export const OperationAnswer = Type.Object({ operation: Operation });
export type OperationAnswer = Static<typeof OperationAnswer>;
