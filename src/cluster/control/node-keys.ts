// In main. The keys of the bucket of leases.

/** The leases of nodes, and beside them the leader's: no node can have its key. */
export const LEADER_KEY = 'leader';
const NODE = 'node.';
export const nodeKey = (node: string): string => NODE + node;
export const nodeOfKey = (key: string): string | null =>
  key.startsWith(NODE) ? key.slice(NODE.length) : null;
