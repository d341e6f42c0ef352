// Runs in main. What fronts and reports ask of the cluster, and what a single service answers. The cluster's part is loaded only
// where there is one, so it is not imported here.

import type { ClusterMetrics } from '../shared/contract/metric-layout.js';
import type {
  BotsOfRemoved,
  ClusterNode,
  ClusterPressure,
  NodeAction,
  NodeList,
  Rebalanced,
} from '../shared/contract/nodes.js';
import type { Rights } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';

export interface ClusterControl {
  nodes(): NodeList | Promise<NodeList>;
  /** @returns the node as it is then. @throws DroverError `not_found`. */
  actOnNode(node: string, action: NodeAction): Promise<ClusterNode>;
  rebalance(): Promise<Rebalanced>;
  /** Of what is no record only. @throws DroverError `not_found`. */
  removeRecord(bucket: string, key: string): Promise<void>;
  /** @throws DroverError `not_found`, `conflict`, `unavailable`. */
  moveBot(input: { id: string; node: string; rights: Pick<Rights, 'reach'> }): Promise<Rebalanced>;
  /** @throws DroverError `not_found`, `conflict`, `unavailable`. */
  removeNode(node: string, bots: BotsOfRemoved | null): Promise<void>;
  /** For `GET /api/pressure`; null in a single service. */
  pressure(): ClusterPressure | null;
  /** For `GET /metrics`; null in a single service. */
  metrics(): ClusterMetrics | null;
}

const NO_NODES: NodeList = { cluster: null, state: 'off', reason: null, nodes: [] };
const notInOne = async (): Promise<never> => {
  throw new DroverError('conflict', 'this service is not in a cluster');
};

/** A single service. */
export const NO_CLUSTER: ClusterControl = {
  nodes: () => NO_NODES,
  actOnNode: notInOne,
  rebalance: notInOne,
  removeRecord: notInOne,
  moveBot: notInOne,
  removeNode: notInOne,
  pressure: () => null,
  metrics: () => null,
};
