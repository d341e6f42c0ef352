// What `drover cluster try` gives to its processes, as their only argument.

/** Of the process that keeps the NATS server, and removes what is left on it (nats-keeper.ts). */
export interface KeeperOptions {
  /** Name of the cluster. */
  name: string;
  /** The program to start; null when `servers` are running ones. */
  program: string | null;
  servers: string[];
  /** Of the NATS server. */
  dir: string;
}

/** Of a node (try-node.ts). */
export interface TryNodeOptions {
  name: string;
  port: number;
  dir: string;
}

/** What the keeper says, once. `pid` of the NATS server that it has started. */
export type KeeperMessage = { servers: string[]; pid: number | null } | { error: string };
