// In main. The nodes of the cluster as this one sees them: a watch of the bucket of leases, and the time since each renewal was seen.
//
// The bucket drops a lease that ran out without a word, by the clock of the NATS server. What counts here is the own monotonic clock.

import type { Clock } from '../../shared/clock.js';
import type { NatsConnection } from '../wire/nats.js';
import { KvWatch } from './kv-watch.js';
import { leaderOf } from './leader.js';
import { LEADER_KEY, nodeKey, nodeOfKey } from './node-keys.js';
import { readNodeRecord } from './node-record.js';
import type { NodesBucket } from './nodes-bucket.js';
import type { Member, Members } from './parts.js';
import { SeenLeases } from './seen-leases.js';

/** A node that is lost and has no bots any more is forgotten after this, in ms. */
const FORGET_MS = 3_600_000;
/** How late it is seen that a lease has run out, at most, in ms. */
const TICK_MS = 100;

export interface MembersOptions {
  self: string;
  bucket: NodesBucket;
  clock: Clock;
  /** This node's own lease is held. */
  isHeld: () => boolean;
  isLeader: () => boolean;
  /** Whether bots are given to the node: then it is not forgotten. */
  hasBots: (node: string) => boolean;
  /** Whether it was removed from the cluster: then it is forgotten at once. */
  isRemoved: (node: string) => boolean;
  /** Whether the node answers a call. */
  answers: (node: string) => Promise<boolean>;
}

export class ClusterMembers implements Members {
  readonly #options: MembersOptions;
  readonly #seen: SeenLeases;
  readonly #members = new Map<string, Member>();
  readonly #listeners = new Set<() => void>();
  #watch: KvWatch<string> | null = null;
  #stopTicking: () => void = () => {};

  constructor(options: MembersOptions) {
    this.#options = options;
    this.#seen = new SeenLeases(options.clock, options.bucket.leaseMs);
  }

  get self(): string {
    return this.#options.self;
  }

  get isLeader(): boolean {
    return this.#options.isLeader();
  }

  get leader(): string | null {
    if (this.isLeader) return this.self;
    const lease = this.#seen.get(LEADER_KEY);
    if (!lease || !this.#seen.isLive(LEADER_KEY)) return null;
    const node = leaderOf(lease.value);
    // It was this node's, and is lost.
    return node === this.self ? null : node;
  }

  /** Whether nothing was missed, as far as this node knows. */
  get isCurrent(): boolean {
    return this.#watch?.isCurrent ?? false;
  }

  start(nats: NatsConnection): void {
    const { bucket, clock } = this.#options;
    this.#watch ??= new KvWatch(nats, bucket, {
      entry: (key, { value, revision, fault }) => {
        if (!fault) this.#seen.saw(key, value, revision);
        // The owner may have renewed the lease before somebody has written that. Anybody can write any key, so others are not kept.
        else if (this.#seen.get(key)) this.#seen.disturbed(key, revision);
        this.#update(key);
      },
      vanished: (key) => {
        this.#seen.vanished(key);
        this.#changed();
      },
      loaded: () => {
        this.#seen.current(true);
        this.#changed();
      },
      interrupted: () => {
        this.#seen.current(false);
        this.#changed();
      },
    });
    this.#stopTicking = clock.every(TICK_MS, () => this.#tick());
  }

  close(): void {
    this.#watch?.close();
    this.#stopTicking();
  }

  all(): Member[] {
    return [...this.#members.values()].map((member) => this.#now(member));
  }

  get(node: string): Member | undefined {
    const member = this.#members.get(node);
    return member && this.#now(member);
  }

  ranOut(): Member[] {
    return this.all().filter(({ node }) => node !== this.self && this.#seen.ranOut(nodeKey(node)));
  }

  /** What the bucket has to have, as far as this node has seen. */
  leases(): Iterable<[key: string, revision: number]> {
    return this.isCurrent ? this.#seen.fresh() : [];
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Ends the lease of a node that has run out, as far as this node knows: from then on its renewals fail.
   * @returns false when it may still be held. Ask again later. @throws Error when NATS does not answer
   */
  async end(node: string): Promise<boolean> {
    const key = nodeKey(node);
    if (node === this.self || !this.#seen.mayBeEnded(key)) return false;
    const lease = this.#seen.get(key);
    const store = this.#options.bucket.lease(key);
    // Of one that has ended it is asked whether it still has: the node may hold another by now, and have written that it has its bots.
    const revision = lease && !lease.isEnded && !lease.isDisturbed ? lease.revision : null;
    try {
      if (revision !== null) {
        await store.end(revision);
        return true;
      }
    } catch (thrown) {
      if (!store.isOutdated(thrown)) throw thrown;
    }
    // The bucket has dropped it, or another has ended it, or it was renewed after all.
    const entry = await store.read();
    if (entry?.fault !== undefined) return await this.#endDisturbed(node, entry.revision);
    return entry === null || entry.value === null;
  }

  /** The lease may be under what is none, and the owner may have it. */
  async #endDisturbed(node: string, revision: number): Promise<boolean> {
    const key = nodeKey(node);
    if (!this.#seen.get(key)?.isDisturbed) {
      this.#seen.disturbed(key, revision);
      return false;
    }
    if (await this.#options.answers(node)) {
      this.#seen.answered(key);
      return false;
    }
    const store = this.#options.bucket.lease(key);
    try {
      await store.end(revision);
      return true;
    } catch (thrown) {
      if (!store.isOutdated(thrown)) throw thrown;
      return false;
    }
  }

  forgetRemoved(): void {
    this.#tick();
  }

  #update(key: string): void {
    const node = nodeOfKey(key);
    const lease = this.#seen.get(key);
    const record = node !== null && lease ? readNodeRecord(node, lease.value) : null;
    if (record) this.#members.set(record.node, { ...record, isLive: this.#isLive(record.node) });
    this.#changed();
  }

  #isLive(node: string): boolean {
    return node === this.self ? this.#options.isHeld() : this.#seen.isLive(nodeKey(node));
  }

  #now(member: Member): Member {
    return { ...member, isLive: this.#isLive(member.node) };
  }

  /** Nothing tells that a lease has run out. */
  #tick(): void {
    let hasChanged = false;
    for (const member of this.#members.values()) {
      const { node } = member;
      const isLive = this.#isLive(node);
      if (member.isLive !== isLive) hasChanged = true;
      member.isLive = isLive;
      if (!isLive && this.#isForgotten(node)) {
        this.#seen.forget(nodeKey(node));
        this.#members.delete(node);
        hasChanged = true;
      }
    }
    if (hasChanged) this.#changed();
  }

  #isForgotten(node: string): boolean {
    const lease = this.#seen.get(nodeKey(node));
    if (node === this.self || !lease) return false;
    const { hasBots, isRemoved } = this.#options;
    return (isRemoved(node) || this.#seen.ageMs(lease) >= FORGET_MS) && !hasBots(node);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
