// JSON Schemas of rollouts: operations that give bots another version of their kind, another configuration, or both.

import { Labels } from './bots.js';
import { nullable } from './json-schema.js';
import { MAX_PARALLEL } from './operation-bounds.js';
import { operationOptions } from './operations.js';
import Type, { type Static } from './typebox.js';

/** How long a bot may take to be healthy, in ms, where a request does not say it. */
export const HEALTHY_MS = 30_000;
const MAX_HEALTHY_MS = 3_600_000;
const MAX_PROMOTE_MS = 7 * 86_400_000;
/** Bots at once, where a request does not say it. */
export const ROLLOUT_PARALLEL = 10;

/** Body of `POST /api/rollouts`. */
export const StartRolloutBody = Type.Object(
  {
    kind: Type.Optional(
      Type.String({
        description:
          'The kind whose files are read again: bots get what they hold. Without `ids`, `labels` and `query`: all bots of the kind.',
      }),
    ),
    version: Type.Optional(
      Type.String({
        description: 'A version of the kind that is still known, in place of its files.',
      }),
    ),
    config: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        minProperties: 1,
        description: 'Merged into the configuration of each bot; null removes a key. No secrets.',
      }),
    ),
    ids: Type.Optional(Type.Array(Type.String(), { minItems: 1, maxItems: 10_000 })),
    labels: Type.Optional({ ...Labels, minProperties: 1 } as typeof Labels),
    query: Type.Optional(Type.String({ description: 'Bots that match: docs/QUERY.md.' })),
    canary: Type.Integer({
      default: 0,
      minimum: 0,
      maximum: 10_000,
      description: 'How many bots are changed first. Once they are healthy the rollout waits.',
    }),
    promote_after_ms: Type.Optional(
      nullable(
        Type.Integer({ minimum: 0, maximum: MAX_PROMOTE_MS }),
        'How long it waits after the canaries. Default: null, until somebody promotes it.',
      ),
    ),
    healthy_ms: Type.Integer({
      default: HEALTHY_MS,
      minimum: 0,
      maximum: MAX_HEALTHY_MS,
      description:
        'A bot is healthy when it has the status that its kind names as `ready`, which it must get within this time, in ms; where the kind names none, when it has run for so long.',
    }),
    ...operationOptions,
    parallel: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_PARALLEL,
        description: `How many bots at once. Default: ${ROLLOUT_PARALLEL}.`,
      }),
    ),
    max_failed: Type.Optional(
      nullable(
        Type.Integer({ minimum: 0 }),
        'When more bots than this are not healthy, all that have changed go back. Null: they never do. Default: 0.',
      ),
    ),
  },
  { additionalProperties: false, anyOf: [{ required: ['kind'] }, { required: ['config'] }] },
);
export type StartRolloutBody = Static<typeof StartRolloutBody>;
