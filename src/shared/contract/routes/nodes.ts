import { BOTS_OF_REMOVED, ClusterNode, type NodeAction, NodeList, Rebalanced } from '../nodes.js';
import { exampleOf } from './examples.js';
import { choice } from './parameters.js';
import type { Routes } from './route.js';

const NO_CLUSTER = 'This service is not in a cluster.';
const CUT_OFF = 'The cluster does not answer.';

const actOnNode = <A extends NodeAction>(action: A, summary: string, description: string) => ({
  id: `${action}Node`,
  access: 'admin' as const,
  activity: `node.${action}` as const,
  tag: 'Nodes' as const,
  summary,
  description: `${description} No body. It outlasts a restart of the node. Returns the node as it is then.`,
  answers: {
    200: { description: 'Done.', schema: ClusterNode, example: exampleOf(ClusterNode) },
  },
  errors: { 404: '`no node "x"`: there is none in the cluster.', 409: NO_CLUSTER, 503: CUT_OFF },
});

export const NODE_ROUTES = {
  'GET /api/nodes': {
    id: 'listNodes',
    access: 'read',
    tag: 'Nodes',
    summary: 'List nodes',
    description:
      'The nodes of the cluster, as the node that answers sees them. A single service is `off` and has none.',
    answers: {
      200: { description: 'By name.', schema: NodeList, example: exampleOf(NodeList) },
    },
  },
  'POST /api/nodes/{node}/cordon': actOnNode(
    'cordon',
    'Cordon a node',
    'It keeps its bots and takes no new ones.',
  ),
  'POST /api/nodes/{node}/uncordon': actOnNode(
    'uncordon',
    'Uncordon a node',
    'It takes bots again. Ends a drain too.',
  ),
  'POST /api/nodes/{node}/drain': actOnNode(
    'drain',
    'Drain a node',
    'Moves its bots to other nodes, one group at a time. The call returns when that has begun.',
  ),
  'DELETE /api/nodes/records/{bucket}/{key}': {
    id: 'removeRecord',
    access: 'admin',
    activity: 'record.delete',
    tag: 'Nodes',
    summary: 'Remove a bad record',
    description:
      'Removes what is no record from a bucket of the cluster on NATS; `bad_records` of `GET /api/nodes` has it. A node that has the bot or the token writes its record again.',
    answers: { 204: { description: 'It is removed.' } },
    errors: {
      404: '`the bucket bots has no bad record x`: what it has is a record, or nothing.',
      409: NO_CLUSTER,
      503: CUT_OFF,
    },
  },
  'DELETE /api/nodes/{node}': {
    id: 'removeNode',
    access: 'admin',
    activity: 'node.remove',
    query: { bots: choice(BOTS_OF_REMOVED, 'What to do with its bots.') },
    tag: 'Nodes',
    summary: 'Remove a node',
    description:
      'Removes a node that does not run any more from the cluster, for good. A service with its data directory cannot join again as this node.',
    answers: { 204: { description: 'Removed.' } },
    errors: {
      404: '`no node "x"`: there is none in the cluster.',
      409: 'This service is not in a cluster, the node runs, or it has bots: they are named.',
      503: 'The cluster does not answer, or the lease of the node may not have run out yet.',
    },
  },
  'POST /api/nodes/rebalance': {
    id: 'rebalance',
    access: 'admin',
    activity: 'node.rebalance',
    tag: 'Nodes',
    summary: 'Rebalance the bots',
    description:
      'Moves bots so that the nodes have equally many for their size. No body. The call returns when that has begun. New bots go to new nodes without it.',
    answers: {
      200: { description: 'It has begun.', schema: Rebalanced, example: { moving: 12 } },
    },
    errors: { 409: NO_CLUSTER, 503: CUT_OFF },
  },
} satisfies Routes;
