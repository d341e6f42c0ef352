// Runs in main. Stores the bots of a node of a cluster: on its disk, which is the truth of what it has, and in the records. Says which of
// them the node may run.
//
// A bot has a record before it runs, and a change of it is in the record before it is answered. Only a bot that stays on its node, which
// nobody else may run or change, is changed without NATS; the record follows.
//
// A `restart` bot runs only while the node holds its lease; any other also without. Which of them a bot is, its record and the node must
// never see differently in the wrong direction: it becomes `stay` in the record first, and `restart` on the node first.

import type { BotSpec, IncidentBot } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import { DroverError } from '../../shared/errors.js';
import type { ClusterBots } from '../cluster.js';
import type { LocalBots, SpecStore } from '../node-service.js';
import { PROTOCOL } from '../wire/names.js';
import { type BotRecords, refusedChange } from './bot-records.js';
import type { BotRecord, Sealing } from './parts.js';

export class ClusterStore implements SpecStore, ClusterBots {
  readonly #local: LocalBots;
  readonly #node: string;
  readonly #sealing: Sealing;
  /** Why the node has not joined the cluster yet. */
  readonly #notJoined: () => DroverError;
  #records: BotRecords | undefined;
  /** Number of the lease that the node holds; null while it holds none. */
  #lease: number | null = null;
  #lastLease = 0;
  /** Ids of bots whose record does not have what this node has. Bounded by the number of bots. */
  readonly #dirty = new Set<string>();
  /** Ids of bots that are being created or deleted here. Bounded by the calls of the fronts. */
  readonly #busy = new Set<string>();
  /**
   * Bots whose record was written since the node has its lease. The leader can give one of them to another node only if it has seen that
   * write, and so the lease (leader-duties.ts).
   */
  readonly #claimed = new Set<string>();
  /** Bots of the disk whose id the cluster has for another bot, with the reason. */
  readonly #leftovers = new Map<string, string>();
  /** Called when the record of a bot that was created or deleted here is to be looked at again (owner.ts). */
  unsettled: (id: string) => void = () => {};

  constructor(local: LocalBots, node: string, sealing: Sealing, notJoined: () => DroverError) {
    this.#local = local;
    this.#node = node;
    this.#sealing = sealing;
    this.#notJoined = notJoined;
  }

  /** Until this is called the cluster has no record of anything. */
  attach(records: BotRecords): void {
    this.#records = records;
  }

  /** The node holds a lease that it did not hold before. */
  leaseHeld(): void {
    this.#lastLease += 1;
    this.#lease = this.#lastLease;
  }

  /** It must not run bots that need the lease. */
  leaseLost(): void {
    this.#lease = null;
    this.#claimed.clear();
  }

  shown(spec: BotSpec): Pick<BotSnapshot, 'node' | 'term' | 'failover'> {
    const { term } = spec;
    const failover = this.#sealing.failoverOf(spec);
    return { node: this.#node, failover, ...(term !== undefined && { term }) };
  }

  get firstTerm(): number | undefined {
    return this.#records?.fault === null ? this.#records.firstTerm : undefined;
  }

  /** Every place may be one of the cluster. */
  checkPlace(): void {}

  *ofGroup(name: string): Iterable<BotSpec> {
    for (const id of this.#records?.ids() ?? []) {
      const spec = this.#records?.get(id)?.spec;
      if (spec?.host_group === name) yield spec;
    }
  }

  ids(): Iterable<string> {
    return this.#records?.ids() ?? [];
  }

  identityOf(id: string): IncidentBot | undefined {
    const spec = this.#records?.get(id)?.spec;
    return spec && { id, incarnation: spec.incarnation ?? '', labels: spec.labels };
  }

  all(): BotSpec[] {
    return this.#local.all();
  }

  refusal(spec: BotSpec): string | null {
    const { id, term } = spec;
    const leftover = this.#leftovers.get(id);
    if (leftover !== undefined) return leftover;
    if (term === undefined) return 'not started: the cluster has no record of it yet';
    if (this.needsLease(spec) && !this.#claimed.has(id)) {
      return 'not started: its node has no lease of the cluster for it yet';
    }
    const records = this.#records;
    if (!records?.wasLoaded) {
      return this.#local.isHandedOver(id) ? 'not started: it was given to another node' : null;
    }
    const record = records.get(id);
    if (!record) return 'not started: the cluster has no record of it';
    return this.#isOwn(record, spec) ? null : `not started: it is on the node ${record.node}`;
  }

  /**
   * @throws DroverError `not_stored`; `conflict` for a bot of another node; `unavailable` for what the records must have and do not accept:
   *   then nothing is stored.
   */
  async put(spec: BotSpec): Promise<void> {
    const { id } = spec;
    const record = this.#records?.get(id);
    const isOwn = record !== undefined && this.#isOwn(record, spec);
    if (!this.#local.has(id)) {
      // Given to this node: the record has it.
      return isOwn ? this.#local.put(spec) : this.#create(spec);
    }
    if (record && !isOwn) throw elsewhere(id, record);
    if (this.needsLease(spec) || spec.term === undefined) {
      if (!this.#records) throw this.#notJoined();
      await this.#records.expectCurrent();
      if (!record) throw unrecorded(id);
      if (record.failover === 'restart') return this.#changeRecordFirst(spec);
    }
    await this.#local.put(spec);
    await this.#uploadOrLater(spec);
  }

  /** Each for itself: what NATS and the disk have of several is no one transaction. @throws like {@link put}. */
  async putMany(specs: readonly BotSpec[]): Promise<void> {
    await Promise.all(specs.map((spec) => this.put(spec)));
  }

  /** For good. @throws DroverError `unavailable` while the record cannot be removed. */
  async remove(id: string): Promise<void> {
    const records = this.#records;
    if (!records) throw this.#notJoined();
    await this.#occupied(id, async () => {
      // The record of a leftover's id is that of another bot, perhaps one that this node is given.
      const isLeftover = this.#leftovers.has(id);
      if (!isLeftover) await records.remove(id, ({ node }) => node === this.#node);
      await this.forget(id);
      if (isLeftover) this.unsettled(id);
    });
  }

  /** Removes it from this node only. */
  async forget(id: string): Promise<void> {
    await this.#local.remove(id);
    this.disown(id);
  }

  /**
   * To be called before another node can have the bot: the disk keeps it, and without NATS a restart must not start it. One that needs the
   * lease is not started without a record anyway. @throws DroverError `not_stored`.
   */
  async giveAway(spec: BotSpec): Promise<void> {
    if (this.#sealing.failoverOf(spec) === 'restart') return;
    await this.#local.setHandedOver(spec.id, true);
  }

  /** The bot is another node's; the disk keeps it. */
  disown(id: string): void {
    this.#dirty.delete(id);
    this.#claimed.delete(id);
    this.#leftovers.delete(id);
  }

  /** Whether this node has had the bot after the node of its record: NATS has lost what it had accepted. */
  isNewer({ term, incarnation }: BotSpec, record: BotRecord): boolean {
    return term !== undefined && term > record.term && incarnation === record.spec.incarnation;
  }

  /** Has the bot given back by a node that has an older state of it. @throws DroverError `unavailable`. */
  async reclaim(spec: BotSpec): Promise<void> {
    const parts = this.#sealing.seal(spec);
    await this.#records?.change(spec.id, (record) => {
      if (record.node === this.#node || !this.isNewer(spec, record)) return null;
      const state = record.state === 'free' ? 'free' : 'leaving';
      const term = spec.term ?? record.term;
      return { ...record, ...parts, term, state, to: this.#node, reason: null };
    });
  }

  /** Whether it is on this node's disk. */
  has(id: string): boolean {
    return this.#local.has(id);
  }

  /** It is not the bot that the cluster has with its id. @param reason why it does not run. */
  leave(id: string, reason: string): void {
    this.#leftovers.set(id, reason);
  }

  get leftovers(): ReadonlyMap<string, string> {
    return this.#leftovers;
  }

  /** Whether a request that is under way creates or deletes it. */
  isBusy(id: string): boolean {
    return this.#busy.has(id);
  }

  /** Whether it may run only while the node holds its lease. */
  needsLease(spec: BotSpec): boolean {
    const record = this.#records?.get(spec.id);
    return this.#sealing.failoverOf(spec) === 'restart' || record?.failover === 'restart';
  }

  isClaimed(id: string): boolean {
    return this.#claimed.has(id);
  }

  /** The bot of a record of this node. @throws DroverError when its secrets cannot be decrypted. */
  specOf(record: BotRecord): BotSpec {
    return { ...this.#sealing.open(record), term: record.term };
  }

  /** Makes a record for a bot that the cluster does not know. @throws DroverError `conflict` when it does, `unavailable`. */
  async introduce(spec: BotSpec, term: number): Promise<void> {
    const { id } = spec;
    const lease = this.#lease;
    await this.#records?.create(id, this.#recordOf(spec, term));
    await this.#local.setHandedOver(id, false);
    this.#claimedIn(lease, id);
    this.#dirty.delete(id);
    this.#leftovers.delete(id);
  }

  /**
   * Writes the record of a bot of this node: it is claimed then. @param spec what this node has of it.
   * @returns whether it is still this node's, with that term. @throws DroverError `unavailable`.
   */
  async claim(id: string, term: number, spec: BotSpec | undefined): Promise<boolean> {
    const lease = this.#lease;
    this.#dirty.delete(id);
    try {
      const parts = spec && this.#sealing.seal(spec);
      const written = await this.#records?.change(id, (record) => {
        const isOwn = record.node === this.#node && record.term === term;
        if (!isOwn || record.state === 'leaving' || record.state === 'free') return null;
        const highest = Math.max(record.term, spec?.term ?? 0);
        return { ...record, ...parts, term: highest, state: 'placed', reason: null };
      });
      if (!written) return false;
    } catch (thrown) {
      if (spec) this.#dirty.add(id);
      throw thrown;
    }
    this.#leftovers.delete(id);
    await this.#local.setHandedOver(id, false);
    return this.#claimedIn(lease, id);
  }

  /**
   * Somebody has written what is no record in the place of that of a bot of this node. Nobody gives it to another node while this one
   * has claimed it.
   */
  async repair(spec: BotSpec): Promise<void> {
    const { id, term } = spec;
    if (term === undefined || !this.#claimed.has(id)) return;
    await this.#records?.repair(id, this.#recordOf(spec, term));
  }

  /** The node has stopped a `leaving` bot: the leader may give it away. @throws DroverError `unavailable`. */
  async free(spec: BotSpec | undefined, { spec: { id }, term }: BotRecord): Promise<void> {
    const parts = spec && this.#sealing.seal(spec);
    await this.#records?.change(id, (record) => {
      const isLeaving = record.state === 'leaving' && record.term === term;
      return isLeaving && record.node === this.#node
        ? { ...record, ...parts, state: 'free' }
        : null;
    });
  }

  async #create(spec: BotSpec): Promise<void> {
    const { id, term } = spec;
    const records = this.#records;
    if (!records) throw this.#notJoined();
    await records.expectCurrent();
    const lease = this.#lease;
    if (term === undefined || lease === null) throw notHeld();
    await this.#occupied(id, async () => {
      await records.create(id, this.#recordOf(spec, term));
      try {
        if (!this.#claimedIn(lease, id)) throw notHeld();
        await this.#local.put(spec);
      } catch (thrown) {
        this.#claimed.delete(id);
        // If this fails too, the node is given the bot when it applies the record again.
        await records.remove(id, ({ node }) => node === this.#node).catch(() => this.unsettled(id));
        throw thrown;
      }
    });
  }

  /** @returns whether the lease during which its record was written is still held: only then it is claimed. */
  #claimedIn(lease: number | null, id: string): boolean {
    if (lease === null || lease !== this.#lease) return false;
    this.#claimed.add(id);
    return true;
  }

  /** What others would run has the change before this node, or it could be lost with the lease. */
  async #changeRecordFirst(spec: BotSpec): Promise<void> {
    const { id } = spec;
    try {
      if (!(await this.#upload(spec))) throw moves(id);
      await this.#local.put(spec);
    } catch (thrown) {
      // The record may have the change all the same: it gets again what the node has.
      this.#dirty.add(id);
      throw thrown;
    }
  }

  /** The disk has it: what NATS does not accept now is written when the records are current again. */
  async #uploadOrLater(spec: BotSpec): Promise<void> {
    const isWritten = await this.#upload(spec).catch(() => false);
    if (!isWritten) this.#dirty.add(spec.id);
  }

  /** @returns whether the record is still this node's, and has it now. @throws DroverError `unavailable`. */
  async #upload(spec: BotSpec): Promise<boolean> {
    const parts = this.#sealing.seal(spec);
    const written = await this.#records?.change(spec.id, (record) =>
      this.#isOwn(record, spec) ? { ...record, ...parts } : null,
    );
    if (!written) return false;
    this.#dirty.delete(spec.id);
    return true;
  }

  /** Writes the records of bots that were changed while NATS was away. */
  async uploadDirty(spec: BotSpec): Promise<void> {
    if (this.#dirty.has(spec.id)) await this.#upload(spec);
  }

  async #occupied(id: string, task: () => Promise<void>): Promise<void> {
    this.#busy.add(id);
    try {
      await task();
    } finally {
      this.#busy.delete(id);
    }
  }

  #recordOf(spec: BotSpec, term: number): BotRecord {
    const parts = this.#sealing.seal(spec);
    return { v: PROTOCOL, ...parts, node: this.#node, term, state: 'placed' };
  }

  #isOwn(record: BotRecord, spec: BotSpec): boolean {
    return record.node === this.#node && record.term === spec.term && record.state !== 'free';
  }
}

function elsewhere(id: string, { node }: BotRecord): DroverError {
  return new DroverError('conflict', `bot ${id} is on the node ${node}`);
}

function moves(id: string): DroverError {
  return new DroverError('unavailable', `bot ${id} is about to move to another node`, 1);
}

function unrecorded(id: string): DroverError {
  return refusedChange(`it has no record of bot ${id} yet`);
}

function notHeld(): DroverError {
  return refusedChange('this node does not hold its lease');
}
