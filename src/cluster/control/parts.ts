// What the parts of the cluster in main know of each other.

import type { BotSpec, Failover } from '../../shared/contract/bots.js';
import type { ClusterNode } from '../../shared/contract/nodes.js';

/** A node as it describes itself in its lease. */
export interface NodeRecord
  extends Pick<
    ClusterNode,
    | 'node'
    | 'labels'
    | 'version'
    | 'address'
    | 'started_at_ms'
    | 'kinds'
    | 'capacity'
    | 'figures'
    | 'leftovers'
  > {
  /** Version of the format (PROTOCOL). */
  v: number;
  /** Random, kept in the data directory: tells a restarted node from another service with its name. */
  id: string;
  /** Random; another one for each start of the service. */
  incarnation: string;
  /** `cordoned` and `draining` were asked for, and outlast a restart of the node. */
  wanted: 'live' | 'cordoned' | 'draining';
  renewed_at_ms: number;
  /** It can read what is encrypted with the key of the cluster. A node that does not say it counts as one that can. */
  has_key: boolean;
  /** Others have its incidents in the bucket of incidents. Releases before do not say it. */
  shares_incidents?: boolean;
  /** Why it does not get the events of the cluster, in one line; empty when it does. Releases before do not say it. */
  events_stalled?: string;
}

/** A node as this one sees it. */
export interface Member extends NodeRecord {
  /** Its lease has not run out, as far as this node knows. */
  isLive: boolean;
}

/** The nodes of the cluster, kept current by a watch (members.ts). */
export interface Members {
  readonly self: string;
  readonly isLeader: boolean;
  readonly leader: string | null;
  all(): Member[];
  get(node: string): Member | undefined;
  /** Nodes whose lease has run out, and was not ended: by the node itself when it stopped, or by the leader. */
  ranOut(): Member[];
  /** Called after each change. @returns a function that ends it. */
  onChange(listener: () => void): () => void;
  /**
   * For the leader: ends the lease of a node that has run out, as far as this node knows, so that its renewals fail. Also of a node that
   * is not known. Its bots may be started elsewhere once this was true.
   * @returns false when the lease may still be held: ask again later. @throws Error when NATS does not answer
   */
  end(node: string): Promise<boolean>;
}

/** Value of a key in the bucket of bots. */
export interface BotRecord {
  /** Version of the format (PROTOCOL). */
  v: number;
  /** Without `term`, and without the values of secrets: see `sealed`. */
  spec: BotSpec;
  /** The node that has the bot. */
  node: string;
  term: number;
  /**
   * `placing`: the node has not taken it yet. `placed`. `leaving`: its node is to stop it. `free`: its node has stopped it and let it go;
   * the leader gives it to another.
   */
  state: 'placing' | 'placed' | 'leaving' | 'free';
  /** Where a `leaving` or `free` bot goes; null for where there is most room. */
  to?: string | null;
  /** Why it is not where it is to be, in one line. */
  reason?: string | null;
  /** What becomes of it when its node is lost. `bound`: its secrets are on that node only. */
  failover: Failover | 'bound';
  /** The values of its secrets, encrypted with the key of `cluster.secret_key_file`; null if there are none, or no key. */
  sealed: string | null;
}

/** How the secrets of bots get into records, and out of them again. */
export interface Sealing {
  /** What becomes of a bot when its node is lost: `bound` when it has secrets that no other node could read. */
  failoverOf(spec: BotSpec): BotRecord['failover'];
  /** The parts of a record that are about what a bot is. `spec` has no `term`. */
  seal(spec: BotSpec): Pick<BotRecord, 'spec' | 'sealed' | 'failover'>;
  /** The bot with its secrets; without those of a `bound` one. @throws DroverError when they cannot be decrypted. */
  open(record: Pick<BotRecord, 'spec' | 'sealed'>): BotSpec;
}

/** Input of the call `place` of the leader: where a new bot is to be created. It answers with `{node}`, or throws why nowhere. */
export type PlacementInput = Pick<
  BotSpec,
  'id' | 'kind' | 'node' | 'node_labels' | 'host_group'
> & {
  /** Its secrets are encrypted: only a node that has the key of the cluster can read them. */
  needs_key?: boolean;
  /** Nodes that did not answer the caller. */
  except?: string[];
};
