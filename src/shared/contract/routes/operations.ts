import { BOT_RESULTS, type BotResult, type OperationChange } from '../operation-bounds.js';
import { Operation, OperationBots, OperationList } from '../operations.js';
import { LIMIT } from '../query-bounds.js';
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

export const OPERATION_ROUTES = {
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
