// JSON Schemas of the nodes of a cluster, for `GET /api/nodes`.

import { Labels } from './bots.js';
import { nullable, oneOf, time } from './json-schema.js';
import Type, { type Static } from './typebox.js';

/** Bots that a node names at most in each of its lists. */
export const HELD_BOTS = 20;

const NODE = {
  node: 'h1',
  state: 'live',
  is_self: true,
  is_leader: true,
  labels: { zone: 'a' },
  version: '0.1.0',
  address: null,
  started_at_ms: 1795257580000,
  renewed_at_ms: 1795257600000,
  kinds: ['demo', 'synthetic'],
  capacity: { cores: 2, memory_mb: 3914 },
  figures: { bots: 3, running: 3, streams: 1, cpu: 0.04, memory_mb: 204.1, unpublished: 0 },
};

const heldBots = (description: string) =>
  Type.Optional(
    Type.Array(Type.Object({ bot: Type.String(), reason: Type.String() }), {
      description: `${description} At most ${HELD_BOTS}, each with the reason.`,
    }),
  );

/** One node of a cluster, as the node that answers sees it. */
export const ClusterNode = Type.Object(
  {
    node: Type.String({ description: 'Its name.' }),
    state: oneOf(['live', 'cordoned', 'draining', 'lost'], {
      description:
        '`cordoned`: takes no new bots. `draining`: gives its bots away. `lost`: its lease has expired.',
    }),
    is_self: Type.Boolean({ description: 'The node that answers.' }),
    is_leader: Type.Boolean({ description: 'It places bots.' }),
    labels: Labels,
    version: Type.String({ description: 'Version of Drover.' }),
    address: nullable(Type.String(), 'Where its API listens, or null before it does.'),
    started_at_ms: time('When it started.'),
    renewed_at_ms: time('When it renewed its lease last.'),
    kinds: Type.Array(Type.String(), { description: 'The bot kinds that it has.' }),
    capacity: Type.Object({
      cores: Type.Integer({ minimum: 1 }),
      memory_mb: Type.Integer({ minimum: 0, description: 'MB (2^20 bytes).' }),
    }),
    figures: Type.Object({
      bots: Type.Integer({ minimum: 0, description: 'Given to it.' }),
      running: Type.Integer({ minimum: 0 }),
      streams: Type.Integer({ minimum: 0, description: 'Open streams.' }),
      cpu: Type.Number({ minimum: 0, description: 'Share of a core that its process uses.' }),
      memory_mb: Type.Number({ minimum: 0, description: 'Memory of its process.' }),
      unpublished: Type.Integer({
        minimum: 0,
        description: 'Events that are not on the stream of the cluster yet.',
      }),
    }),
    leftovers: heldBots(
      'Bots on its disk that do not run, because the cluster has another bot with the id. `DELETE /api/bots/{id}?node=` removes one.',
    ),
    stuck: heldBots('While it drains: bots that no other node takes.'),
  },
  {
    description: 'A node of the cluster.',
    examples: [NODE],
  },
);
export type ClusterNode = Static<typeof ClusterNode>;
/** A bot that is not where it is to be, and why. */
export type HeldBot = NonNullable<ClusterNode['stuck']>[number];

/** Answer of `GET /api/nodes`. */
export const NodeList = Type.Object(
  {
    cluster: nullable(Type.String(), 'Name of the cluster; null for a single service.'),
    state: oneOf(['off', 'joining', 'on', 'cut_off'], {
      description:
        '`off`: a single service. `joining`: it has not reached the cluster yet. `on`. `cut_off`: NATS does not answer; what this says of other nodes is old.',
    }),
    reason: nullable(Type.String(), 'Why it is not `on`, in one line.'),
    nodes: Type.Array(ClusterNode),
    bad_records: Type.Optional(
      Type.Array(
        Type.Object({
          bucket: Type.String({
            description: '`nodes`, `bots`, `tokens`, `rules`, `incidents` or `removed`.',
          }),
          key: Type.String(),
          reason: Type.String({ description: 'Why, in one line.' }),
        }),
        {
          description: `What this node does not accept as a record in the buckets of the cluster on NATS, at most ${HELD_BOTS}. \`DELETE /api/nodes/records/{bucket}/{key}\` removes one. Absent when there is none.`,
        },
      ),
    ),
  },
  {
    description: 'The nodes of the cluster.',
    examples: [{ cluster: 'drover', state: 'on', reason: null, nodes: [NODE] }],
  },
);
export type NodeList = Static<typeof NodeList>;

/** Data of a `cluster` event: whether a stream has what happens on the other nodes. */
export const ClusterStreamState = Type.Object(
  {
    state: oneOf(['joining', 'on', 'cut_off'], {
      description: 'Only while `on` does the stream have news of other nodes.',
    }),
    reason: nullable(Type.String(), 'Why it is not `on`, in one line.'),
  },
  { description: 'How the stream stands in the cluster.' },
);
export type ClusterStreamState = Static<typeof ClusterStreamState>;

/** `cluster` of `GET /api/pressure`. */
export const ClusterPressure = Type.Object(
  {
    state: oneOf(['joining', 'on', 'cut_off'], {
      description:
        '`joining`: it has not reached the cluster yet. `on`. `cut_off`: NATS does not answer, or refuses.',
    }),
    reason: nullable(Type.String(), 'Why it is not `on`, in one line.'),
    unpublished: Type.Integer({
      minimum: 0,
      description: 'Events of this node that are not on the stream of the cluster yet.',
    }),
    behind: Type.Integer({
      minimum: 0,
      description: 'Blocks of the stream of the cluster that this node has not read yet.',
    }),
  },
  { description: 'How this node stands in the cluster.' },
);
export type ClusterPressure = Static<typeof ClusterPressure>;

/** Answer of `POST /api/nodes/rebalance` and `POST /api/bots/{id}/move`. */
export const Rebalanced = Type.Object(
  { moving: Type.Integer({ minimum: 0, description: 'Bots that move to other nodes now.' }) },
  { description: 'What moves.' },
);
export type Rebalanced = Static<typeof Rebalanced>;

/** What becomes of the bots that are on a node that is removed. */
export const BOTS_OF_REMOVED = ['move', 'delete'] as const;
export type BotsOfRemoved = (typeof BOTS_OF_REMOVED)[number];

/** What can be asked of a node. `rebalance` is of all nodes. */
export const NODE_ACTIONS = ['cordon', 'uncordon', 'drain'] as const;
export type NodeAction = (typeof NODE_ACTIONS)[number];
