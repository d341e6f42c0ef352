// Runs in main. What a service asks of its cluster. A single service has one that does nothing: the code of a cluster is loaded only
// where there is one, so it is not imported here.

import type { BotSpec, IncidentBot, UpdateBotBody } from '../shared/contract/bots.js';
import type { Config } from '../shared/contract/config.js';
import type { BotSnapshot } from '../shared/contract/events.js';
import type { ClusterMetrics } from '../shared/contract/metric-layout.js';
import type {
  BotsOfRemoved,
  ClusterNode,
  ClusterPressure,
  NodeAction,
  NodeList,
  Rebalanced,
} from '../shared/contract/nodes.js';
import type { Serves } from '../shared/contract/rpc.js';
import type { BroadcasterPeer, ControlMethods } from '../shared/contract/threads.js';
import type { Rights } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';
import type { SharedLease } from '../shared/memory/lease-deadline.js';
import type {
  NodeService,
  NodeSetup,
  RuleSharing,
  RuleStore,
  SpecStore,
  TokenSharing,
} from './node-service.js';

export interface Cluster extends NodeOperations {
  /** Name of this node; null in a single service. */
  readonly node: string | null;
  /** For bot hosts: HostStart.lease. */
  readonly lease: SharedLease | null;
  readonly bots: ClusterBots;
  /** Where bots are stored: on this node, or in its cluster too. */
  readonly botStore: SpecStore;
  /** The same of rules. */
  readonly ruleStore: RuleStore;
  /** Null in a single service. */
  readonly ruleSharing: RuleSharing | null;
  readonly tokens: TokenSharing;
  /** What fronts ask of main; to be called before {@link join}. @param local of this node. */
  controller(local: Controller): Controller;
  /**
   * Resolves when the node has joined and the records of the bots are there, or when NATS does not answer: then it tries on.
   * Nothing is asked of the service before.
   * @throws StartupError when this node cannot be part of that cluster.
   */
  join(service: NodeService): Promise<void>;
  /** To be called when the bots of the store are shown and not started. */
  begin(): void;
  /** To be called when the service has begun to start its bots: those that are this node's, and were kept back, may start. */
  begun(): void;
  /** There is a new broadcaster. */
  reattach(broadcaster: BroadcasterPeer): void;
  /** To be called when no bot runs any more, before the fronts end. */
  flush(): Promise<void>;
  /** To be called after the fronts have ended. */
  close(): Promise<void>;
}

/** What fronts and reports ask about nodes. */
export interface NodeOperations {
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

/** What fronts ask of main. Each front adds `failed`, which is about itself. */
export type Controller = Omit<Serves<ControlMethods>, 'failed' | 'slow'>;

/** What the bots of a node need to know of the others. */
export interface ClusterBots {
  /** What the snapshot of a bot says of its place. */
  shown(spec: BotSpec): Pick<BotSnapshot, 'node' | 'term' | 'failover'>;
  /**
   * Why this node must not run the bot now, in one line; null when it may. Each start asks: a bot runs only under a record that the
   * cluster has.
   */
  refusal(spec: BotSpec): string | null;
  /** The term of a new bot. Undefined while the cluster is not known. */
  readonly firstTerm: number | undefined;
  /** Checks where a bot is to run, of a new one or of a change. @throws DroverError `bad_request`. */
  checkPlace(wish: UpdateBotBody): void;
  /** The bots of a host group, on all nodes, as far as is known. */
  ofGroup(name: string): Iterable<Pick<BotSpec, 'id' | 'labels'>>;
  /** The bots of all nodes, as far as is known. */
  ids(): Iterable<string>;
  /** Undefined for one that is not known. */
  identityOf(id: string): IncidentBot | undefined;
}

export function isInCluster({ cluster }: Pick<Config, 'cluster'>): boolean {
  return cluster.servers.length > 0;
}

const notInOne = async (): Promise<never> => {
  throw new DroverError('conflict', 'this service is not in a cluster');
};

export const NO_NODES: NodeOperations = {
  nodes: () => ({ cluster: null, state: 'off', reason: null, nodes: [] }),
  actOnNode: notInOne,
  rebalance: notInOne,
  removeRecord: notInOne,
  moveBot: notInOne,
  removeNode: notInOne,
  pressure: () => null,
  metrics: () => null,
};

export const NO_OTHER_BOTS: ClusterBots = {
  shown: () => ({}),
  refusal: () => null,
  firstTerm: undefined,
  checkPlace(wish) {
    // A bot that was in a cluster may have these fields; who asks for them here expects what a single service cannot do.
    const field = (['node', 'node_labels', 'failover'] as const).find(
      (name) => wish[name] !== undefined,
    );
    if (field === undefined) return;
    throw new DroverError('bad_request', `this service is not in a cluster: ${field} needs one`);
  },
  ofGroup: () => [],
  ids: () => [],
  identityOf: () => undefined,
};

export const NO_TOKEN_SHARING: TokenSharing = {
  admit: async () => {},
  added: async () => {},
  removed: () => {},
  used: () => {},
  isCurrent: true,
};

/** A single service: its rules look at its own stream. */
export function singleService({
  bots: botStore,
  rules: ruleStore,
}: Pick<NodeSetup, 'bots' | 'rules'>): Cluster {
  let ownStream: NodeService['ownStream'] | undefined;
  return {
    ...NO_NODES,
    node: null,
    lease: null,
    bots: NO_OTHER_BOTS,
    botStore,
    ruleStore,
    ruleSharing: null,
    tokens: NO_TOKEN_SHARING,
    controller: (local) => local,
    join: async (service) => {
      ownStream = service.ownStream;
    },
    begin: () => ownStream?.follow(),
    begun: () => {},
    reattach: (broadcaster) => ownStream?.reattach(broadcaster),
    flush: async () => {},
    close: async () => {},
  };
}
