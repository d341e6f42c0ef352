import type { BotSpec } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';

/** What the bots of a node need to know of its cluster. A single service has none. */
export interface BotCluster {
  /** What the snapshot of a bot says of its place. */
  shown(spec: BotSpec): Pick<BotSnapshot, 'node' | 'term' | 'failover'>;
  /** The term of a new bot. Undefined while the cluster is not known: it is given one when it is. */
  firstTerm(id: string): number | undefined;
  /** The bots of a host group, on all nodes, as far as is known. */
  ofGroup(name: string): Iterable<Pick<BotSpec, 'id' | 'labels'>>;
}
