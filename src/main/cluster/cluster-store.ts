// Runs in main. Stores the bots of a node of a cluster: on its disk, which is the truth of what it has, and in the records.
//
// A `restart` bot runs only while the node holds its lease; any other also without. Which of them a bot is, its record and the node must
// never see differently in the wrong direction: it becomes `stay` in the record first, and `restart` on the node first.

import { PROTOCOL } from '../../shared/cluster/names.js';
import type { BotSpec } from '../../shared/contract/bots.js';
import type { BotSnapshot } from '../../shared/contract/events.js';
import { DroverError } from '../../shared/errors.js';
import type { BotCluster } from '../bots/bot-cluster.js';
import type { SpecStore } from '../bots/registry.js';
import type { BotStore } from '../store/bot-store.js';
import type { BotRecords } from './bot-records.js';
import type { BotRecord, Sealing } from './parts.js';

export class ClusterStore implements SpecStore, BotCluster {
  readonly #local: BotStore;
  readonly #node: string;
  readonly #sealing: Sealing;
  #records: BotRecords | undefined;
  /** Ids of bots whose record does not have what this node has. Bounded by the number of bots. */
  readonly #dirty = new Set<string>();
  /** Ids of bots that are being created or deleted here. Bounded by the calls of the fronts. */
  readonly #busy = new Set<string>();
  /**
   * Bots whose record was written since the node has its lease. The leader can give one of them to another node only if it has seen that
   * write, and so the lease (leader-duties.ts).
   */
  readonly #claimed = new Set<string>();

  constructor(local: BotStore, node: string, sealing: Sealing) {
    this.#local = local;
    this.#node = node;
    this.#sealing = sealing;
  }

  /** Until this is called it is the store of a single service. */
  attach(records: BotRecords): void {
    this.#records = records;
  }

  shown(spec: BotSpec): Pick<BotSnapshot, 'node' | 'term' | 'failover'> {
    const { term } = spec;
    const failover = this.#sealing.failoverOf(spec);
    return { node: this.#node, failover, ...(term !== undefined && { term }) };
  }

  firstTerm(id: string): number | undefined {
    return this.#records?.fault === null ? this.#records.firstTerm(id) : undefined;
  }

  *ofGroup(name: string): Iterable<BotSpec> {
    for (const id of this.#records?.ids() ?? []) {
      const spec = this.#records?.get(id)?.spec;
      if (spec?.host_group === name) yield spec;
    }
  }

  all(): BotSpec[] {
    return this.#local.all();
  }

  /** @throws DroverError `not_stored`; `conflict` for a bot of another node; `unavailable` for what the records must have first. */
  async put(spec: BotSpec): Promise<void> {
    const { id } = spec;
    const record = this.#records?.get(id);
    const isNew = !this.#local.has(id);
    if (record && this.#isOwn(record, spec)) {
      // Given to this node: the record has it.
      if (isNew) return this.#local.put(spec);
      return this.#change(spec, record);
    }
    if (isNew && this.#records && spec.term !== undefined) return this.#create(spec, this.#records);
    if (record && spec.term !== undefined) throw elsewhere(id, record);
    await this.#local.put(spec);
    this.#dirty.add(id);
  }

  /** For good. @throws DroverError `unavailable` while the record cannot be removed. */
  async remove(id: string): Promise<void> {
    await this.#occupied(id, async () => {
      await this.#records?.remove(id, ({ node }) => node === this.#node);
      await this.forget(id);
    });
  }

  /** Removes it from this node only. */
  async forget(id: string): Promise<void> {
    await this.#local.remove(id);
    this.#dirty.delete(id);
    this.#claimed.delete(id);
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

  /** The lease is lost. */
  endClaims(): void {
    this.#claimed.clear();
  }

  isDirty(id: string): boolean {
    return this.#dirty.has(id);
  }

  /** The bot of a record of this node. @throws DroverError when its secrets cannot be decrypted. */
  specOf(record: BotRecord): BotSpec {
    return { ...this.#sealing.open(record), term: record.term };
  }

  /** Makes a record for a bot that the cluster does not know. @throws DroverError `conflict` when it does, `unavailable`. */
  async introduce(spec: BotSpec, term: number): Promise<void> {
    await this.#records?.create(spec.id, this.#recordOf(spec, term));
    this.#claimed.add(spec.id);
    this.#dirty.delete(spec.id);
  }

  /**
   * Writes the record of a bot of this node: it is claimed then. @param spec what this node has of it.
   * @returns whether it is still this node's, with that term. @throws DroverError `unavailable`.
   */
  async claim(id: string, term: number, spec: BotSpec | undefined): Promise<boolean> {
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
    this.#claimed.add(id);
    return true;
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

  async #create(spec: BotSpec, records: BotRecords): Promise<void> {
    const { id, term = 1 } = spec;
    await this.#occupied(id, async () => {
      await records.create(id, this.#recordOf(spec, term));
      this.#claimed.add(id);
      try {
        await this.#local.put(spec);
      } catch (thrown) {
        // If this fails too, the node is given the bot when it applies the record again.
        await records.remove(id, ({ node }) => node === this.#node).catch(() => {});
        this.#claimed.delete(id);
        throw thrown;
      }
    });
  }

  async #change(spec: BotSpec, record: BotRecord): Promise<void> {
    const { failover } = this.#sealing.seal(spec);
    if (record.failover === 'restart' && failover !== 'restart') {
      await this.#upload(spec);
      await this.#local.put(spec);
      return;
    }
    await this.#local.put(spec);
    // The disk has it: what NATS does not accept now is written when the records are current again.
    await this.#upload(spec).catch(() => this.#dirty.add(spec.id));
  }

  async #upload(spec: BotSpec): Promise<void> {
    const parts = this.#sealing.seal(spec);
    await this.#records?.change(spec.id, (record) =>
      this.#isOwn(record, spec) ? { ...record, ...parts } : null,
    );
    this.#dirty.delete(spec.id);
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
