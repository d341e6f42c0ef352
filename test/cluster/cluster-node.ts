// A node of a cluster as far as the records of bots go: its lease, its records, what it does with its bots, and the leader's duties. Its
// bots are only noted: which run here, with which term.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BotRecords } from '../../src/cluster/control/bot-records.js';
import { ClusterStore } from '../../src/cluster/control/cluster-store.js';
import { LeaderDuties } from '../../src/cluster/control/leader-duties.js';
import { Membership } from '../../src/cluster/control/membership.js';
import { Owner } from '../../src/cluster/control/owner.js';
import type { Sealing } from '../../src/cluster/control/parts.js';
import { RemovedNodes } from '../../src/cluster/control/removed-nodes.js';
import type { OwnedBots } from '../../src/cluster/node-service.js';
import type { ClusterConfig } from '../../src/cluster/wire/bus-messages.js';
import { NatsLink } from '../../src/cluster/wire/connect.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import type { BotStore } from '../../src/main/store/bot-store.js';
import type { BotSpec } from '../../src/shared/contract/bots.js';
import { DroverError } from '../../src/shared/errors.js';
import { partial } from '../harness/partial.js';

/** The nodes of a test share a process: a stall of it must not cost all of them their leases. */
export const LEASE_MS = 4000;

/** Says who runs what: no bot may run on two nodes. */
export class Witness {
  readonly running = new Map<string, string>();
  readonly faults: string[] = [];

  start(bot: string, node: string): void {
    const other = this.running.get(bot);
    if (other !== undefined) this.faults.push(`${bot} runs on ${other}, started on ${node}`);
    this.running.set(bot, node);
  }

  stop(bot: string, node: string): void {
    if (this.running.get(bot) === node) this.running.delete(bot);
  }

  on(node: string): string[] {
    return [...this.running].filter(([, where]) => where === node).map(([bot]) => bot);
  }
}

/** The disk of a node: outlasts its restarts. */
export class Disk {
  readonly specs = new Map<string, BotSpec>();
  readonly given = new Set<string>();
  readonly dir = mkdtempSync(join(tmpdir(), 'drover-node-'));

  get store(): BotStore {
    const { specs, given } = this;
    const store = {
      all: () => [...specs.values()],
      has: (id: string) => specs.has(id),
      put: async (spec: BotSpec) => void specs.set(spec.id, spec),
      remove: async (id: string) => {
        specs.delete(id);
        given.delete(id);
      },
      isHandedOver: (id: string) => given.has(id),
      setHandedOver: async (id: string, isGiven: boolean) => {
        if (isGiven) given.add(id);
        else given.delete(id);
      },
    };
    return partial<BotStore>(store);
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** What the registry of bots does, without hosts. */
class NotedBots implements OwnedBots {
  readonly #bots = new Map<string, { spec: BotSpec; kept: string | null }>();
  readonly #node: string;
  readonly #witness: Witness;
  readonly #store: ClusterStore;

  constructor(node: string, witness: Witness, store: ClusterStore) {
    this.#node = node;
    this.#witness = witness;
    this.#store = store;
    for (const spec of store.all()) this.#bots.set(spec.id, { spec, kept: null });
  }

  /** Starts those that may run. */
  begin(): void {
    for (const id of this.#bots.keys()) this.#run(id);
  }

  specs = () => [...this.#bots.values()].map(({ spec }) => spec);
  specOf = (id: string) => this.#bots.get(id)?.spec;

  async adopt(spec: BotSpec): Promise<void> {
    this.#bots.set(spec.id, { spec, kept: null });
    await this.#store.put(spec);
    this.#run(spec.id);
  }

  async create(spec: BotSpec): Promise<void> {
    this.#bots.set(spec.id, { spec, kept: null });
    try {
      await this.#store.put(spec);
    } catch (thrown) {
      this.#bots.delete(spec.id);
      throw thrown;
    }
    this.#run(spec.id);
  }

  async change(spec: BotSpec): Promise<void> {
    await this.#store.put(spec);
    const bot = this.#bots.get(spec.id);
    if (bot) bot.spec = spec;
  }

  async delete(id: string): Promise<void> {
    await this.#store.remove(id);
    this.#witness.stop(id, this.#node);
    this.#bots.delete(id);
  }

  act = (id: string) => this.delete(id);

  async release(id: string, forget: () => Promise<void>): Promise<void> {
    this.#witness.stop(id, this.#node);
    await forget();
    this.#bots.delete(id);
  }

  async keepStopped(id: string, reason: string): Promise<void> {
    const bot = this.#bots.get(id);
    if (bot) bot.kept = reason;
    this.#witness.stop(id, this.#node);
  }

  async allowStart(id: string): Promise<void> {
    const bot = this.#bots.get(id);
    if (!bot || bot.kept === null) return;
    bot.kept = null;
    this.#run(id);
  }

  async assignTerm(id: string, term: number): Promise<void> {
    const bot = this.#bots.get(id);
    if (!bot) return;
    bot.spec = { ...bot.spec, term };
    await this.#store.put(bot.spec);
  }

  keptBecause(id: string): string | null | undefined {
    return this.#bots.get(id)?.kept;
  }

  /** As a bot does, it asks before each start. */
  #run(id: string): void {
    const bot = this.#bots.get(id);
    if (!bot) return;
    bot.kept ??= this.#store.refusal(bot.spec);
    if (bot.kept === null && bot.spec.desired === 'running') this.#witness.start(id, this.#node);
  }
}

/** Of tests: a bot with a `secret` in its configuration is bound to its node, the `password` of one is encrypted. */
export function sealingOf(hasKey: boolean): Sealing {
  const failoverOf: Sealing['failoverOf'] = (spec) =>
    'secret' in spec.config ? 'bound' : (spec.failover ?? 'restart');
  return {
    failoverOf,
    seal({ term: _, ...spec }) {
      const sealed = 'password' in spec.config ? String(spec.config['password']) : null;
      return { spec, sealed, failover: failoverOf(spec) };
    },
    open({ spec, sealed }) {
      if (sealed !== null && !hasKey) throw new DroverError('unavailable', 'there is no key');
      return spec;
    },
  };
}

export interface NodeOptions {
  node: string;
  url: string;
  witness: Witness;
  disk?: Disk;
  labels?: Record<string, string>;
  kinds?: string[];
  hasKey?: boolean;
  /** Others do not learn whether it has the key before this. */
  saysKey?: () => boolean;
}

export class ClusterNode {
  readonly name: string;
  readonly lines: string[] = [];
  /** Nodes whose place in the stream it has ended. */
  readonly fenced: string[] = [];
  readonly disk: Disk;
  readonly link: NatsLink;
  readonly membership: Membership;
  readonly store: ClusterStore;
  bots!: NotedBots;
  records!: BotRecords;
  removed!: RemovedNodes;
  duties!: LeaderDuties;
  owner!: Owner;
  #isKilled = false;
  #ended: Promise<void> = Promise.resolve();

  private constructor(options: NodeOptions) {
    const { node, url, labels = {}, kinds = ['k'], disk = new Disk() } = options;
    const { hasKey = true, saysKey = () => hasKey } = options;
    this.name = node;
    this.disk = disk;
    const config = configOf(node, url, labels);
    this.link = new NatsLink({
      config,
      name: node,
      onChange: () => this.membership?.linkChanged(),
      say: () => {},
    });
    const notJoined = (): DroverError => new DroverError('unavailable', 'it has not joined');
    this.store = new ClusterStore(disk.store, node, sealingOf(hasKey), notJoined);
    const figures = {
      bots: 0,
      running: 0,
      streams: 0,
      cpu: 0,
      memory_mb: 0,
      unpublished: 0,
    };
    this.membership = new Membership({
      config,
      link: this.link,
      dir: disk.dir,
      incarnation: `${Math.random()}`,
      startedAtMs: Date.now(),
      stopGraceMs: 100,
      replicas: 1,
      signer: Signer.NONE,
      describe: () => ({ address: null, kinds, figures, has_key: saysKey() }),
      hasBots: (name) => (this.records?.on(name).size ?? 0) > 0,
      answers: async () => false,
      removed: {
        has: (name) => this.removed?.has(name) ?? false,
        identity: async (name) => this.removed?.identity(name),
        forget: async (name) => this.removed.forget(name),
      },
      events: {
        onHeld: () => {
          this.store.leaseHeld();
          this.owner.leaseHeld();
        },
        onExpiring: async () => {
          this.store.leaseLost();
          if (!this.#isKilled) await this.owner.leaseExpiring();
        },
        onLost: async () => {},
        onDeadline: () => {},
        onElected: () => this.duties.elected(),
        onDeposed: () => this.duties.deposed(),
        onStatus: () => {},
        onRemoved: ({ message }) => void this.lines.push(message),
        say: (_, line) => void this.lines.push(line),
      },
    });
  }

  static async start(options: NodeOptions): Promise<ClusterNode> {
    const self = new ClusterNode(options);
    const say = (_: string, line: string): void => void self.lines.push(line);
    const bucket = clusterNames('test').bots;
    self.records = new BotRecords(await self.link.connected(), {
      bucket,
      replicas: 1,
      signer: Signer.NONE,
      say,
    });
    self.store.attach(self.records);
    self.removed = new RemovedNodes(await self.link.connected(), {
      bucket: `${bucket}-removed`,
      replicas: 1,
      signer: Signer.NONE,
      say,
    });
    self.removed.records.onChange(() => self.membership.nodeRemoved());
    self.bots = new NotedBots(self.name, options.witness, self.store);
    self.owner = new Owner({
      node: self.name,
      bots: self.bots,
      store: self.store,
      records: self.records,
      settled: async () => {},
      flush: async () => {},
      say,
    });
    self.duties = new LeaderDuties({
      members: self.membership.members,
      records: self.records,
      removed: self.removed,
      fence: async (node) => void self.fenced.push(node),
      lost: () => {},
      say,
    });
    self.bots.begin();
    await self.membership.start();
    return self;
  }

  /** As by SIGKILL: its bots are gone, and nobody is told. */
  async kill(witness: Witness): Promise<void> {
    this.#isKilled = true;
    for (const bot of witness.on(this.name)) witness.stop(bot, this.name);
    this.owner.close();
    this.duties.close();
    this.records.close();
    this.removed.records.close();
    await this.link.close();
    // Without a connection it cannot give the lease back.
    this.#ended = this.membership.close().catch(() => {});
  }

  async close(): Promise<void> {
    await this.#ended;
    if (!this.#isKilled) {
      this.owner.close();
      this.duties.close();
      this.records.close();
      this.removed.records.close();
      await this.membership.close();
      await this.link.close();
    }
    this.disk.remove();
  }
}

function configOf(node: string, url: string, labels: Record<string, string>): ClusterConfig {
  return {
    servers: [url],
    name: 'test',
    node,
    labels,
    credentials: null,
    tls: { ca: null, cert: null, key: null },
    lease_ms: LEASE_MS,
    replicas: 1,
    window_bytes: 16_777_216,
    window_ms: 60_000,
    secret_key_file: null,
    accept_unsigned: false,
  } as ClusterConfig;
}
