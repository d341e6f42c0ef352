// In main. This node in the cluster: its lease, whether it leads, and what it knows of the others.

import { availableParallelism, totalmem } from 'node:os';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import type { ClusterNode, ClusterStreamState, NodeList } from '../../shared/contract/nodes.js';
import { Deferred } from '../../shared/deferred.js';
import { StartupError } from '../../shared/errors.js';
import {
  createLease,
  LeaseDeadline,
  type LeaseTimes,
  type SharedLease,
} from '../../shared/memory/lease-deadline.js';
import { VERSION } from '../../shared/version.js';
import type { ClusterConfig } from '../wire/bus-messages.js';
import type { NatsLink } from '../wire/connect.js';
import { clusterNames, PROTOCOL } from '../wire/names.js';
import type { Signer } from '../wire/signer.js';
import { Leadership } from './leader.js';
import { Lease, type LeaseOwner, marginOf, stopMsOf } from './lease.js';
import { ClusterMembers } from './members.js';
import { NodeIdentity } from './node-identity.js';
import { nodeKey } from './node-keys.js';
import { readNodeRecord } from './node-record.js';
import { clusterNode, nodeList } from './nodes.js';
import { NodesBucket } from './nodes-bucket.js';
import type { Member, Members, NodeRecord } from './parts.js';

export interface MembershipEvents {
  /**
   * The lease is held. A bot that is this node's may be started only after its record was written with the revision that was read: the
   * leader may be giving it to another node.
   */
  onHeld: () => void;
  /** The lease will be lost: stop all bots but those that `stay`. Resolves when none of them runs. */
  onExpiring: (reason: string) => Promise<void>;
  /** It is lost: end what still runs, by force. Resolves when nothing does. */
  onLost: (reason: string) => Promise<void>;
  /** For hosts that have no shared memory with main. */
  onDeadline: (deadline: LeaseTimes) => void;
  onElected: () => void;
  onDeposed: () => void;
  /** {@link Membership.status} is another. */
  onStatus: () => void;
  /** The node was removed from the cluster: it must end. */
  onRemoved: (error: StartupError) => void;
  /** A line for the operator. */
  say: (level: 'info' | 'warn' | 'error', line: string) => void;
}

export interface MembershipOptions {
  config: ClusterConfig;
  link: NatsLink;
  /** The data directory. */
  dir: string;
  incarnation: string;
  startedAtMs: number;
  /** hosts.stop_grace_ms */
  stopGraceMs: number;
  replicas: number;
  signer: Signer;
  /** What changes, asked before each renewal. */
  describe: () => Pick<
    NodeRecord,
    'address' | 'kinds' | 'figures' | 'has_key' | 'leftovers' | 'events_stalled'
  >;
  /** Whether bots are given to the node. */
  hasBots: (node: string) => boolean;
  /** As MembersOptions.answers. */
  answers: (node: string) => Promise<boolean>;
  /** Of the nodes that were removed from the cluster for good. */
  removed: {
    has(node: string): boolean;
    /** As RemovedNodes.identity. */
    identity(node: string): Promise<string | null | undefined>;
    forget(node: string): Promise<void>;
  };
  events: MembershipEvents;
  clock?: Clock;
}

export class Membership {
  readonly #options: MembershipOptions;
  readonly #identity: NodeIdentity;
  readonly #shared = createLease();
  readonly #deadline = new LeaseDeadline(this.#shared);
  readonly #bucket: NodesBucket;
  readonly #lease: Lease;
  readonly #leadership: Leadership;
  readonly #members: ClusterMembers;
  /** Of the first attempt: what is wrong later does not end the service. */
  readonly #outcome = new Deferred();
  #wasHeld = false;
  #reason: string | null = null;

  /** @throws Error of the system when the node's identity cannot be kept in the data directory */
  constructor(options: MembershipOptions) {
    this.#options = options;
    const { config, link, dir, events, incarnation, replicas, signer } = options;
    const { node, lease_ms: leaseMs } = config;
    const clock = options.clock ?? SYSTEM_CLOCK;
    this.#identity = new NodeIdentity(dir);
    this.#bucket = new NodesBucket({
      name: clusterNames(config.name).nodes,
      leaseMs,
      replicas,
      signer,
      connected: () => link.connected(),
    });
    this.#leadership = new Leadership({
      node,
      incarnation,
      bucket: this.#bucket,
      clock,
      onElected: events.onElected,
      onDeposed: events.onDeposed,
      say: (line) => events.say('warn', `cluster ${config.name}: ${line}`),
    });
    this.#members = new ClusterMembers({
      self: node,
      bucket: this.#bucket,
      clock,
      isHeld: () => this.#lease.state === 'held',
      isLeader: () => this.#leadership.isElected,
      hasBots: options.hasBots,
      answers: options.answers,
      isRemoved: (other) => options.removed.has(other),
    });
    this.#lease = new Lease({
      store: this.#bucket.lease(nodeKey(node)),
      clock,
      deadline: this.#deadline,
      leaseMs,
      stopMs: Math.min(stopMsOf(leaseMs), options.stopGraceMs + 500),
      value: () => JSON.stringify(this.#record()),
      ownerOf: (value) => this.#ownerOf(value),
      whenGone: 'renew',
      admit: (isHeld) => this.#bucket.inTime(this.#admit(isHeld)),
      events: {
        onHeld: () => this.#held(),
        onRenewed: () => {
          this.#trouble(null);
          events.onDeadline(this.#deadline.times);
        },
        onExpiring: (reason) => this.#expiring(reason),
        onLost: (reason) => this.#lost(reason),
        onOther: (value, isAlive) => this.#other(value, isAlive),
        onTrouble: (reason, thrown) => this.#trouble(reason, thrown),
      },
    });
    // Nobody may be waiting for it.
    this.#outcome.promise.catch(() => {});
  }

  /** As NodeIdentity.id. */
  get identity(): string {
    return this.#identity.id;
  }

  get members(): Members {
    return this.#members;
  }

  get bucket(): Pick<NodesBucket, 'faults' | 'clear'> {
    return this.#bucket;
  }

  /** For the check of the bucket. */
  leases(): Iterable<[key: string, revision: number]> {
    return this.#members.leases();
  }

  /** For bot hosts: HostStart.lease. */
  get shared(): SharedLease {
    return this.#shared;
  }

  get deadline(): LeaseTimes {
    return this.#deadline.times;
  }

  get isHeld(): boolean {
    return this.#lease.state === 'held';
  }

  get status(): ClusterStreamState {
    if (this.isHeld && this.#options.link.status.isConnected) return { state: 'on', reason: null };
    const reason = this.#options.link.status.reason ?? this.#reason;
    return { state: this.#wasHeld ? 'cut_off' : 'joining', reason };
  }

  nodes(): NodeList {
    return nodeList(this.#members, this.#own, this.#options.config.name, this.status);
  }

  /**
   * Joins as soon as NATS is there. Resolves when the lease is held, or when NATS does not answer: the service starts alone.
   * @throws StartupError when the name is in use, or what is stored on NATS is not for this version or configuration
   */
  async start(): Promise<void> {
    const { link } = this.#options;
    const watch = link.connected().then((nats) => this.#members.start(nats));
    // Closed before it was connected.
    watch.catch(() => {});
    this.#lease.start();
    this.linkChanged();
    await this.#outcome.promise;
  }

  /** To be called when the status of the link to NATS has changed. */
  linkChanged(): void {
    const { isConnected, reason } = this.#options.link.status;
    if (!isConnected && reason !== null) this.#trouble(reason, null);
    else this.#options.events.onStatus();
  }

  /** Keeps what was asked of this node, and tells the others. @returns the node as it is then. @throws Error of the system when it cannot be kept */
  async want(wanted: NodeRecord['wanted']): Promise<ClusterNode> {
    this.#identity.want(wanted);
    // If this fails, the next renewal tells it.
    await this.#lease.refresh().catch(() => {});
    return clusterNode(this.#own, this.#members);
  }

  /** Gives the lease back; no bot that needs it may run any more. */
  async close(): Promise<void> {
    await this.#leadership.resign();
    await this.#lease.close();
    this.#members.close();
  }

  /** To be called when a node was removed from the cluster. */
  nodeRemoved(): void {
    this.#members.forgetRemoved();
  }

  /** @throws StartupError when this node was removed. Another one that has its name by now may join. */
  async #admit(isHeld: boolean): Promise<void> {
    const { config, removed, events } = this.#options;
    const { name, node } = config;
    const identity = await removed.identity(node);
    if (identity === undefined) return;
    const { id, isNew, path } = this.#identity;
    if (identity === null ? isNew : identity !== id) {
      if (isHeld) await removed.forget(node);
      return;
    }
    const error = new StartupError(
      `the node ${node} was removed from the cluster ${name}; to join again as a new node, with the bots here that the cluster has neither deleted nor moved, delete ${path} and start it`,
    );
    events.onRemoved(error);
    throw error;
  }

  get #own(): Member {
    const { wallMs } = this.#deadline.times;
    const renewed = Math.max(0, wallMs - this.#options.config.lease_ms);
    return { ...this.#record(), renewed_at_ms: renewed, isLive: this.isHeld };
  }

  #record(): NodeRecord {
    const { config, incarnation, startedAtMs, describe } = this.#options;
    return {
      v: PROTOCOL,
      node: config.node,
      id: this.#identity.id,
      incarnation,
      labels: config.labels,
      version: VERSION,
      started_at_ms: startedAtMs,
      renewed_at_ms: Date.now(),
      wanted: this.#identity.wanted,
      shares_incidents: true,
      capacity: { cores: availableParallelism(), memory_mb: Math.floor(totalmem() / 2 ** 20) },
      ...describe(),
    };
  }

  #ownerOf(value: string): LeaseOwner {
    const record = readNodeRecord(this.#options.config.node, value);
    if (record?.id !== this.#identity.id) return 'other';
    if (record.incarnation === this.#options.incarnation) return 'self';
    // One that took it from this run is not an earlier run: two services have the same data directory, or a copy of it.
    return this.#wasHeld ? 'other' : 'earlier';
  }

  #held(): void {
    const { config, events } = this.#options;
    if (this.#wasHeld) events.say('info', `cluster ${config.name}: the lease is held again`);
    this.#wasHeld = true;
    this.#trouble(null, null);
    this.#outcome.resolve();
    this.#leadership.stand();
    events.onHeld();
  }

  async #expiring(why: string): Promise<void> {
    const { config, events } = this.#options;
    const reason = this.#rootOf(why);
    events.say('error', `cluster ${config.name}: bots are stopped, the lease runs out: ${reason}`);
    this.#trouble(reason, null);
    await events.onExpiring(reason);
  }

  async #lost(why: string): Promise<void> {
    const { config, events } = this.#options;
    const reason = this.#rootOf(why);
    events.say('error', `cluster ${config.name}: the lease is lost: ${reason}`);
    this.#trouble(reason, null);
    events.onDeadline(this.#deadline.times);
    await Promise.all([this.#leadership.resign(), events.onLost(reason)]);
  }

  /** Another service has the name; or had it, and its lease has not run out. */
  #other(value: string, isAlive: boolean): void {
    const { name, node, lease_ms: leaseMs } = this.#options.config;
    const record = readNodeRecord(node, value);
    const whose = record?.address ? `at ${record.address}` : `of version ${record?.version || '?'}`;
    const inUse = `the node name "${node}" is in use in the cluster "${name}" by another service (${whose})`;
    if (isAlive)
      this.#trouble(inUse, new StartupError(`${inUse}; give this one another with cluster.node`));
    else this.#trouble(`${inUse}; waiting up to ${waitS(leaseMs)} s for its lease to run out`);
  }

  /** @param thrown a StartupError ends the start; anything else makes the service start alone; undefined lets it wait. */
  #trouble(reason: string | null, thrown?: unknown): void {
    const isFatal = thrown instanceof StartupError;
    if (isFatal) this.#outcome.reject(thrown);
    else if (thrown !== undefined) this.#outcome.resolve();
    const root = reason === null || isFatal ? reason : this.#rootOf(reason);
    if (root === this.#reason) return;
    const { config, events } = this.#options;
    this.#reason = root;
    if (root !== null) events.say('warn', `cluster ${config.name}: ${root}`);
    events.onStatus();
  }

  /** Without a connection nothing else can work. */
  #rootOf(reason: string): string {
    const { isConnected, reason: root } = this.#options.link.status;
    return isConnected || root === null ? reason : root;
  }
}

function waitS(leaseMs: number): number {
  return Math.ceil((leaseMs + marginOf(leaseMs)) / 1000);
}
