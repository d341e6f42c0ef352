// Nodes of a cluster without a service: their leases, and what they see of each other.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Membership } from '../../src/cluster/control/membership.js';
import type { ClusterConfig } from '../../src/cluster/wire/bus-messages.js';
import { NatsLink } from '../../src/cluster/wire/connect.js';
import { Signer } from '../../src/cluster/wire/signer.js';

export interface TestNode {
  name: string;
  membership: Membership;
  link: NatsLink;
  /** What its owner was told. */
  log: string[];
  /** The same in words for the operator. */
  said: string[];
  close(): Promise<void>;
}

export interface NodeOptions {
  servers: string[];
  leaseMs?: number;
  /** Name of the cluster. Default `test`. */
  cluster?: string;
  /** Default 1. */
  replicas?: number;
  /** Another than a new one. */
  dir?: string;
  /** Default: without a key. */
  signer?: Signer;
  /** Nodes that bots are given to. */
  withBots?: string[];
  /** Whether a node answers its calls. Default: none does. */
  answers?: (node: string) => Promise<boolean>;
}

export class TestNodes {
  readonly #dirs: string[] = [];
  readonly #nodes: TestNode[] = [];

  newDir(): string {
    const dir = mkdtempSync(join(tmpdir(), 'drover-node-'));
    this.#dirs.push(dir);
    return dir;
  }

  /** A node that has not joined yet. */
  make(name: string, options: NodeOptions): TestNode {
    const { servers, leaseMs = 6000, cluster = 'test', replicas = 1, dir, withBots = [] } = options;
    const config = { ...clusterConfig(name, servers, leaseMs), name: cluster };
    const log: string[] = [];
    const said: string[] = [];
    const link = new NatsLink({
      ...{ config, name, say: (line) => said.push(line) },
      onChange: () => membership.linkChanged(),
    });
    const membership: Membership = new Membership({
      config,
      link,
      dir: dir ?? this.newDir(),
      incarnation: `${Math.random()}`,
      startedAtMs: Date.now(),
      stopGraceMs: 200,
      replicas,
      signer: options.signer ?? Signer.NONE,
      describe: () => ({
        has_key: true,
        address: `http://${name}:8080`,
        kinds: ['synthetic'],
        figures: { bots: 0, running: 0, streams: 0, cpu: 0, memory_mb: 0, unpublished: 0 },
      }),
      hasBots: (node) => withBots.includes(node),
      answers: options.answers ?? (async () => false),
      removed: { has: () => false, identity: async () => undefined, forget: async () => {} },
      events: {
        onHeld: () => log.push('held'),
        onExpiring: async () => void log.push('expiring'),
        onLost: async () => void log.push('lost'),
        onDeadline: () => {},
        onElected: () => log.push('elected'),
        onDeposed: () => log.push('deposed'),
        onStatus: () => {},
        onRemoved: () => {},
        say: (_, line) => said.push(line),
      },
    });
    const close = async (): Promise<void> => {
      await membership.close();
      await link.close();
    };
    const node = { name, membership, link, log, said, close };
    this.#nodes.push(node);
    return node;
  }

  async join(name: string, options: NodeOptions): Promise<TestNode> {
    const node = this.make(name, options);
    await node.membership.start();
    return node;
  }

  async close(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.close()));
    for (const dir of this.#dirs) rmSync(dir, { recursive: true, force: true });
  }
}

export function clusterConfig(node: string, servers: string[], leaseMs: number): ClusterConfig {
  return {
    servers,
    name: 'test',
    node,
    labels: { zone: node },
    credentials: null,
    tls: { ca: null, cert: null, key: null },
    lease_ms: leaseMs,
    replicas: null,
    window_bytes: 16_777_216,
    window_ms: 60_000,
    secret_key_file: null,
    accept_unsigned: false,
  };
}
