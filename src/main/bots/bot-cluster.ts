import type { BotSpec, IncidentBot } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';

/** What the bots of a node need to know of its cluster. A single service has none. */
export interface BotCluster {
  /** What the snapshot of a bot says of its place. */
  shown(spec: BotSpec): Pick<BotSnapshot, 'node' | 'term' | 'failover'>;
  /**
   * Why this node must not run the bot now, in one line; null when it may. Each start asks: a bot runs only under a record that the
   * cluster has.
   */
  refusal(spec: BotSpec): string | null;
  /** The term of a new bot. Undefined while the cluster is not known. */
  readonly firstTerm: number | undefined;
  /** The bots of a host group, on all nodes, as far as is known. */
  ofGroup(name: string): Iterable<Pick<BotSpec, 'id' | 'labels'>>;
  /** The bots of all nodes, as far as is known. */
  ids(): Iterable<string>;
  /** Undefined for one that is not known. */
  identityOf(id: string): IncidentBot | undefined;
}
