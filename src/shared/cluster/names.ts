// The names that a cluster uses on NATS. All begin with `drover` and the name of the cluster, so that several clusters, and other
// programs, can share one NATS.

/**
 * Version of the messages and of what is stored. A node refuses a stream or bucket of a higher one, and messages that ask for more than
 * it knows. Fields that are added do not change it: receivers ignore fields that they do not know.
 */
export const PROTOCOL = 1;

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
    /** Calls to the main thread of a node. */
    calls: (node: string): string => `${subject}.calls.${node}`,
    /** Questions to the bus thread of a node: its baseline, its history. */
    bus: (node: string): string => `${subject}.bus.${node}`,
    /** To all bus threads: who is there. */
    allBus: `${subject}.bus`,
  };
}
export type ClusterNames = ReturnType<typeof clusterNames>;

/** What `?node=` calls the node that answers. No node has this name. */
export const SELF = 'self';
/** Node names are tokens of subjects and keys of buckets. */
export const NODE_NAME = /^(?!self$)[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;

/** The key of a bucket for any id: KV keys allow no leading, trailing or double dot. */
export function keyOf(id: string): string {
  return id.replaceAll('.', '=2E');
}

export function idOfKey(key: string): string {
  return key.replaceAll('=2E', '.');
}
