// The names that a cluster uses on NATS. All begin with `drover` and the name of the cluster, so that several clusters, and other
// programs, can share one NATS.

/**
 * Version of what this release writes: messages, and what is stored. Receivers ignore fields that they do not know, so fields that are
 * added do not change it (docs/CLUSTER.md, "Protocol versions").
 */
export const PROTOCOL: number = 1;
/**
 * Highest version that this release reads; from 1 on it reads all. It is one more than {@link PROTOCOL} in the release that introduces
 * a version: the nodes of the release before it are then still understood, and the next release writes it.
 */
export const READABLE: number = 1;

/** A version that this release does not read; null for one that it reads, and for what is none: it can be as long as a message. */
export function laterVersion(v: unknown): number | null {
  return typeof v === 'number' && v > READABLE ? v : null;
}

/** Copies of the stream and of each bucket on the NATS servers. */
export function replicasOf(config: { replicas: number | null; servers: string[] }): number {
  return config.replicas ?? (config.servers.length >= 3 ? 3 : 1);
}

/** Calls to the bus threads of all nodes: no node has this name. */
export const EVERYONE = '*';

/** Names of a cluster. @param name as in `cluster.name`: letters, digits and dashes. */
export function clusterNames(name: string) {
  const bucket = (what: string): string => `drover-${name}-${what}`;
  const subject = `drover.${name}`;
  return {
    /** The JetStream stream of blocks. */
    stream: `drover-${name}-events`,
    /** A node's own subject in that stream. */
    events: (node: string): string => `${subject}.events.${node}`,
    allEvents: `${subject}.events.*`,
    /** Leases of nodes, and that of the leader. */
    nodes: bucket('nodes'),
    /** A record for each bot. */
    bots: bucket('bots'),
    /** A record for each token. */
    tokens: bucket('tokens'),
    /** A record for each rule. */
    rules: bucket('rules'),
    /** The newest incidents of each node. */
    incidents: bucket('incidents'),
    /** Nodes that were removed for good. */
    removed: bucket('removed'),
    /** Calls to the main thread of a node. */
    calls: (node: string): string => `${subject}.calls.${node}`,
    /** Calls to the bus thread of a node: its baseline, its history. {@link EVERYONE}: to all, who is there. */
    bus: (node: string): string =>
      node === EVERYONE ? `${subject}.bus` : `${subject}.bus.${node}`,
  };
}
export type ClusterNames = ReturnType<typeof clusterNames>;

/** The key of a bucket for any id: KV keys allow no leading, trailing or double dot. */
export function keyOf(id: string): string {
  return id.replaceAll('.', '=2E');
}

/** Keys of a bucket that are no ids: no id begins so. Those that a node does not know it leaves alone. */
export function isReserved(key: string): boolean {
  return key.startsWith('_');
}

export function idOfKey(key: string): string {
  return key.replaceAll('=2E', '.');
}
