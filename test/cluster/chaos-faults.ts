// The faults of the chaos test: what can happen to a node, to a NATS server, to all of NATS and to what it stores.

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, type StreamInfo } from '../../src/cluster/wire/nats.js';
import { eventually } from '../harness/bots.js';
import type { ServiceNode, TestCluster } from '../harness/cluster.js';
import type { NatsServer } from '../harness/nats.js';
import type { SmallDisk } from '../harness/small-disk.js';
import { allJoined } from './service.js';

const SLOW_MS = 500;
/** How far a clock jumps at most, in s. */
const JUMP_S = 3600;
/** A killed node can have lost what it wrote last: journal.flush_ms on a busy machine, in ms. */
const UNWRITTEN_MS = 2000;
/** JetStream has its leaders again, on a busy machine too. */
const RECOVERY_MS = 180_000;

/** Clocks of nodes, of libfaketime: the wall clock only, as a clock that is set does. */
export class Clocks {
  readonly #dir: string;
  readonly #offsets = new Map<string, number>();
  readonly #library = execFileSync('faketime', ['-m', '-f', '+0', 'printenv', 'LD_PRELOAD'], {
    encoding: 'utf8',
  }).trim();

  constructor(dir: string) {
    this.#dir = dir;
  }

  /** The environment of a node whose clock can be set. */
  of(node: string): Record<string, string> {
    this.set(node, 0);
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file(node),
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  set(node: string, seconds: number): void {
    this.#offsets.set(node, seconds);
    writeFileSync(this.#file(node), `${seconds < 0 ? '' : '+'}${seconds}\n`);
  }

  /** The time as a node has it. Unix epoch in ms. */
  now(node: string): number {
    return Date.now() + (this.#offsets.get(node) ?? 0) * 1000;
  }

  #file(node: string): string {
    return `${this.#dir}/${node}.clock`;
  }
}

export interface FaultParts {
  cluster: TestCluster;
  clocks: Clocks;
  /** By data directory. */
  disks: ReadonlyMap<string, SmallDisk>;
  random: () => number;
  say: (line: string) => void;
}

type Act<T> = (target: T) => Promise<void>;

export class Faults {
  /** Processes that were frozen: their connections could stay open. */
  readonly frozen: number[] = [];
  /** When journals lost lines, by the clock of their node. */
  readonly unwritten: { node: string; from: number; to: number }[] = [];
  readonly counts = new Map<string, number>();
  /** Nodes that joined the cluster since their start: only these have its stream. */
  readonly joined = new Set<ServiceNode>();
  readonly #parts: FaultParts;
  readonly #busy = new Set<ServiceNode>();
  #asked = 0;

  readonly ofNodes: Readonly<Record<string, Act<ServiceNode>>> = {
    'kill -9': (node) => this.#kill(node),
    SIGSTOP: (node) => this.#freeze(node),
    partition: (node) => this.#separate([node]),
    'a slow network': (node) => this.#slow(node),
    'a full disk': (node) => this.#fillNode(node),
    'a clock that jumps': (node) => this.#jump(node),
  };
  readonly ofServers: Readonly<Record<string, Act<NatsServer>>> = {
    'kill -9': (server) => this.#killServers([server], 'SIGKILL'),
    SIGSTOP: (server) => this.#freezeServer(server),
    partition: (server) => this.#separate([server]),
    'a partition with a node': (server) =>
      this.#separate([server, this.#pick(this.#cluster.nodes)]),
    'a slow network': (server) => this.#slow(server),
    'a full disk': (server) => this.#fillServer(server),
    'all of NATS down': () => this.#killServers(this.#cluster.nats, 'SIGTERM'),
  };

  constructor(parts: FaultParts) {
    this.#parts = parts;
    for (const node of parts.cluster.nodes) this.joined.add(node);
  }

  get #cluster(): TestCluster {
    return this.#parts.cluster;
  }

  /** One fault of a node that has none. Resolves when it is over. @param name default: any. */
  async onNode(name = this.#pick(Object.keys(this.ofNodes))): Promise<void> {
    const free = this.#cluster.nodes.filter((node) => node.isUp && !this.#busy.has(node));
    if (free.length === 0) return;
    const node = this.#pick(free);
    this.#busy.add(node);
    await this.#run(`${name}: ${node.name}`, () => this.ofNodes[name]?.(node));
    this.#busy.delete(node);
  }

  /** One fault of NATS: no two at once, as two of three servers are more than it survives. */
  async onServer(name = this.#pick(Object.keys(this.ofServers))): Promise<void> {
    const server = this.#pick(this.#cluster.nats);
    await this.#run(`${name}: ${server.name ?? 'NATS'}`, () => this.ofServers[name]?.(server));
    await this.#recovered();
  }

  /** The stream or a bucket is deleted: it is made again from what the nodes have, so nothing else may be wrong at the time. */
  async deleted(what: 'stream' | 'bots' | 'nodes' | 'tokens'): Promise<void> {
    const names = clusterNames('test');
    const name = what === 'stream' ? names.stream : `KV_${names[what]}`;
    await this.#run(`a deletion: ${name}`, async () => {
      const connection = await this.#cluster.nats[0]?.connect();
      if (!connection) throw new Error('there is no NATS server');
      const { streams } = await jetstreamManager(connection);
      const { created } = await streams.info(name);
      await streams.delete(name);
      await eventually(
        async () => {
          await this.#runs();
          return ((await streams.info(name).catch(() => null))?.created ?? created) !== created;
        },
        `${name} to be made again`,
        RECOVERY_MS,
      );
      await connection.close();
    });
    await allJoined(this.#cluster, this.#cluster.awake, RECOVERY_MS);
  }

  /** A NATS server that has ended by itself is started again, as a service manager does: 2.9 can end when a stream is deleted. */
  async #runs(): Promise<void> {
    for (const server of this.#cluster.nats.filter(({ isRunning }) => !isRunning)) {
      this.#parts.say(`NATS has ended: ${server.output().slice(-300)}`);
      await server.run();
    }
  }

  async #run(what: string, act: () => Promise<void> | undefined): Promise<void> {
    const [kind = ''] = what.split(':');
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    this.#parts.say(what);
    await act();
    this.#parts.say(`${what} is over`);
  }

  async #kill(node: ServiceNode): Promise<void> {
    this.joined.delete(node);
    await node.kill();
    const now = this.#parts.clocks.now(node.name);
    this.unwritten.push({ node: node.name, from: now - UNWRITTEN_MS, to: now });
    await this.#pause(2);
    await node.start();
    await this.#join(node);
  }

  /** Until a node that was started is in the cluster. Another fault may keep it out for long. */
  async #join(node: ServiceNode): Promise<void> {
    await allJoined(this.#cluster, [node], RECOVERY_MS);
    this.joined.add(node);
  }

  async #freeze(node: ServiceNode): Promise<void> {
    this.frozen.push(node.pid);
    node.suspend();
    await this.#pause(2.5);
    node.resume();
  }

  async #separate(part: (ServiceNode | NatsServer)[]): Promise<void> {
    const rejoin = this.#cluster.separate(part);
    await this.#pause(2.5);
    rejoin();
  }

  async #slow(member: ServiceNode | NatsServer): Promise<void> {
    const end = await this.#cluster.slow(member, SLOW_MS);
    await this.#pause(2.5);
    await end();
  }

  async #fillNode(node: ServiceNode): Promise<void> {
    const { clocks, disks } = this.#parts;
    const from = clocks.now(node.name) - UNWRITTEN_MS;
    const disk = disks.get(node.dataDir);
    disk?.fill();
    await this.#pause(1.5);
    disk?.empty();
    this.unwritten.push({ node: node.name, from, to: clocks.now(node.name) + UNWRITTEN_MS });
  }

  async #jump(node: ServiceNode): Promise<void> {
    const { clocks, random } = this.#parts;
    clocks.set(node.name, Math.round((2 * random() - 1) * JUMP_S));
    await this.#pause(1.5);
    clocks.set(node.name, 0);
  }

  async #killServers(servers: readonly NatsServer[], signal: NodeJS.Signals): Promise<void> {
    await Promise.all(servers.map((server) => server.kill(signal)));
    await this.#pause(1.5);
    await Promise.all(servers.map((server) => server.run()));
  }

  async #freezeServer(server: NatsServer): Promise<void> {
    server.suspend();
    await this.#pause(1.5);
    server.resume();
  }

  /** JetStream switches itself off where its disk is full, and 2.9 does not end by SIGTERM then: it is started again. */
  async #fillServer(server: NatsServer): Promise<void> {
    const disk = this.#parts.disks.get(server.dir);
    disk?.fill();
    await this.#pause(1.5);
    disk?.empty();
    await server.kill();
    await server.run();
  }

  /** Each NATS server has all of each stream and bucket: another one may have a fault. */
  async #recovered(): Promise<void> {
    const { stream, bots, nodes, tokens } = clusterNames('test');
    let last: StreamInfo | null = null;
    for (const name of [stream, ...[bots, nodes, tokens].map((bucket) => `KV_${bucket}`)])
      await eventually(
        async () => {
          last = await this.#infoOf(name).catch(() => null);
          return isWhole(last);
        },
        'each NATS server to have all',
        RECOVERY_MS,
      ).catch((thrown: Error) => {
        throw new Error(`${thrown.message}; the last: ${JSON.stringify(last?.cluster)}`);
      });
  }

  /** As one server after the other has it. */
  async #infoOf(name: string): Promise<StreamInfo> {
    const server = this.#cluster.nats[this.#asked++ % this.#cluster.nats.length] as NatsServer;
    const connection = await server.connect();
    try {
      const manager = await jetstreamManager(connection, { timeout: 2000 });
      return await manager.streams.info(name);
    } finally {
      await connection.close();
    }
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#parts.random() * from.length)] as T;
  }

  /** How long a fault lasts is the test's input: there is no event to wait for. @param most in leases. */
  async #pause(most: number): Promise<void> {
    await delay((0.5 + this.#parts.random() / 2) * most * this.#cluster.leaseMs);
  }
}

function isWhole(info: StreamInfo | null): boolean {
  // A server that is alone has no copies.
  if (!info?.cluster) return info !== null;
  const { leader, replicas = [] } = info.cluster;
  return Boolean(leader) && replicas.every(({ current, offline }) => current && !offline);
}
