import {
  BOT_RESULTS,
  type BotResult,
  type OperationChange,
  type RolloutChange,
} from '../operation-bounds.js';
import { Operation, OperationBots, OperationList } from '../operations.js';
import { LIMIT } from '../query-bounds.js';
import { StartRolloutBody } from '../rollouts.js';
import { exampleOf } from './examples.js';
import { integer, limit, list, text, wait } from './parameters.js';
import type { Routes } from './route.js';

const NO_OPERATION =
  '`no operation "x"`: it does not exist, or is no longer kept, or the token may see none of its bots.';
const NO_ANSWER = 'In a cluster: the node that may have it does not answer.';

const changeOperation = <C extends OperationChange>(
  change: C,
  summary: string,
  description: string,
) => ({
  id: `${change}Operation`,
  access: 'control' as const,
  activity: `operation.${change}` as const,
  tag: 'Operations' as const,
  summary,
  description: `${description} No body. A token that is limited to some bots can do it only to operations that it began.`,
  answers: {
    200: {
      description: 'The operation as it is then.',
      schema: Operation,
      example: exampleOf(Operation),
    },
  },
  errors: { 404: NO_OPERATION, 409: 'It has ended, or is about to.', 503: NO_ANSWER },
});

const changeRollout = <C extends RolloutChange>(
  change: C,
  summary: string,
  description: string,
  conflict: string,
) => ({
  id: `${change}Rollout`,
  access: 'control' as const,
  activity: `rollout.${change}` as const,
  tag: 'Operations' as const,
  summary,
  description: `${description} No body.`,
  answers: {
    200: {
      description: change === 'promote' ? 'The rollout.' : 'The operation that takes it back.',
      schema: Operation,
      example: exampleOf(Operation),
    },
  },
  errors: { 404: NO_OPERATION, 409: conflict },
});

export const OPERATION_ROUTES = {
  'POST /api/rollouts': {
    id: 'startRollout',
    access: 'control',
    activity: 'rollout.start',
    tag: 'Operations',
    summary:
      'Give bots another version of their kind, or another configuration, one after the other',
    description:
      'Each bot is stopped, changed and started, and must be healthy before the next one of its place begins. When too many are not, all that have changed go back. A version needs a token that is not limited to some bots. Progress, pause and resume: as of every operation.',
    body: {
      schema: StartRolloutBody,
      example: { kind: 'trader', canary: 5, parallel: 20, healthy_ms: 30000, max_failed: 3 },
    },
    answers: {
      201: { description: 'Begun.', schema: Operation, example: exampleOf(Operation) },
    },
    errors: {
      404: '`no bot kind "x"`, or the version is not known.',
      409: 'Nothing has changed: no bot is selected, or all have the version; a file does not load; configurations would not be valid; another rollout changes the same bots; or the service is in a cluster.',
    },
  },
  'POST /api/rollouts/{id}/promote': changeRollout(
    'promote',
    'Let a rollout continue after its canaries',
    'Also before they are healthy: it does not wait then.',
    'It has no canaries, or has ended.',
  ),
  'POST /api/rollouts/{id}/abort': changeRollout(
    'abort',
    'End a rollout, and take back what it has changed',
    'It begins no further bot; those that it has changed go back.',
    'It has ended.',
  ),
  'POST /api/rollouts/{id}/revert': changeRollout(
    'revert',
    'Take back a rollout that has ended',
    'Bots that another rollout has changed since stay as they are.',
    'It is under way, or was taken back, or the version before is not known any more.',
  ),
  'GET /api/operations': {
    id: 'listOperations',
    access: 'read',
    query: { limit },
    tag: 'Operations',
    summary: 'List operations',
    description:
      'Those that have not ended, and those that ended within a day. A token that is limited to some bots sees the operations that it began, and of others the bots that it reaches, their number and results.',
    answers: {
      200: {
        description: 'Newest first. The service keeps 1,000, with 300,000 bots in all.',
        schema: OperationList,
        example: { operations: [exampleOf(Operation)] },
      },
    },
  },
  'GET /api/operations/{id}': {
    id: 'getOperation',
    access: 'read',
    query: { wait: wait('0') },
    tag: 'Operations',
    summary: 'Get an operation, or wait for its end',
    answers: {
      200: {
        description: 'As it is when it has ended, or after `wait`.',
        schema: Operation,
        example: exampleOf(Operation),
      },
    },
    errors: { 404: NO_OPERATION, 503: NO_ANSWER },
  },
  'GET /api/operations/{id}/bots': {
    id: 'listOperationBots',
    access: 'read',
    query: {
      result: list<BotResult>(
        `Only bots with this result: ${BOT_RESULTS.map((name) => `\`${name}\``).join(', ')}.`,
        ['failed'],
      ),
      limit: integer('Maximum number of bots. Default: all.', {
        minimum: LIMIT.minimum,
        maximum: LIMIT.maximum,
      }),
      cursor: text('`next` of the previous page, with the same parameters.', '1000', {
        pattern: '^[0-9]{1,9}$',
      }),
    },
    tag: 'Operations',
    summary: 'List what has become of the bots of an operation',
    answers: {
      200: {
        description: 'In the order in which they are begun.',
        schema: OperationBots,
        example: {
          bots: [
            {
              id: 'demo-1',
              result: 'failed',
              status: null,
              error: 'no bot "demo-1"',
              began_ms: 1795257586204,
              ended_ms: 1795257586205,
            },
          ],
          next: null,
        },
      },
    },
    errors: { 404: NO_OPERATION, 503: NO_ANSWER },
  },
  'POST /api/operations/{id}/pause': changeOperation(
    'pause',
    'Pause an operation',
    'Begins no further bot until it is resumed.',
  ),
  'POST /api/operations/{id}/resume': changeOperation(
    'resume',
    'Resume an operation',
    'Continues one that is paused.',
  ),
  'POST /api/operations/{id}/cancel': changeOperation(
    'cancel',
    'Cancel an operation',
    'Begins no further bot; the bots that it has begun end. What it has done stays.',
  ),
} satisfies Routes;
