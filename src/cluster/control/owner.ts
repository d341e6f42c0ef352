// Runs in main. Brings the bots of this node to what their records say.
//
// A bot that needs the lease is started only after its record was written during that lease, by the revision that was read: a node that
// has lost its lease meanwhile finds that the bot was given to another, or takes it before that can happen.

import type { BotSpec } from '../../shared/contract/bots.js';
import { messageOf } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import type { OwnedBots } from '../node-service.js';
import type { BotRecords } from './bot-records.js';
import type { ClusterStore } from './cluster-store.js';
import type { BotRecord } from './parts.js';
import { Turns } from './turns.js';

/** Wait before a bot whose turn has failed is looked at again, in ms. */
const RETRY_MS = 1000;

/** A bot that hangs holds the others up for so long, in ms. */
const SETTLE_MS = 30_000;

export interface OwnerParts {
  node: string;
  bots: OwnedBots;
  store: ClusterStore;
  records: BotRecords;
  /**
   * It is known which bots are this node's, and none of those that need the lease was started yet: what the node publishes of these bots
   * counts (`publish` of the bus).
   */
  settled(keep: string[]): Promise<void>;
  /** Resolves when what this node has published of its bots until now is on the stream, or that takes too long. */
  flush(): Promise<void>;
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class Owner {
  readonly #parts: OwnerParts;
  /** Grows with each lease and each loss of it. */
  #lease = 0;
  #isHeld = false;
  /** It is known which bots are this node's. */
  #mayStart = false;
  #wasSettled = false;
  /** The last lease for which that was found out. */
  #settling = 0;
  /** Of the bots and the records of this node. */
  readonly #turns = new Turns(
    (id) => this.#apply(id),
    (id, thrown) => this.#tryLater(id, messageOf(thrown)),
  );
  /** What was said of a bot, so that it is said once. */
  readonly #said = new Map<string, string>();
  /** Bots that this node has given away and that no other has taken yet: its disk has them until then. Bounded by the records. */
  readonly #handedOver = new Set<string>();
  readonly #retries = new Set<NodeJS.Timeout>();
  readonly #unlisten: (() => void)[];
  #isClosed = false;

  constructor(parts: OwnerParts) {
    this.#parts = parts;
    // Once the registry of bots has done its part.
    parts.store.unsettled = (id) => this.#later(() => this.#look(id));
    this.#unlisten = [
      parts.records.onChange((id) => this.#look(id)),
      parts.records.onLoaded(() => void this.#reconcile()),
    ];
  }

  /** Whether it is known which bots are this node's: before that nothing is published of them. */
  get isSettled(): boolean {
    return this.#mayStart;
  }

  /** It was known once. */
  get wasSettled(): boolean {
    return this.#wasSettled;
  }

  /** The node holds its lease. */
  leaseHeld(): void {
    this.#lease += 1;
    this.#isHeld = true;
    void this.#reconcile();
  }

  /** The lease will run out. Resolves when no bot runs that needs it. */
  async leaseExpiring(): Promise<void> {
    const { bots, store } = this.#parts;
    this.#lease += 1;
    this.#isHeld = false;
    this.#mayStart = false;
    const reason = 'stopped: its node has lost the cluster';
    const dependent = bots.specs().filter((spec) => store.needsLease(spec));
    await Promise.all(dependent.map(({ id }) => bots.keepStopped(id, reason)));
  }

  close(): void {
    this.#isClosed = true;
    for (const unlisten of this.#unlisten) unlisten();
    for (const timer of this.#retries) clearTimeout(timer);
  }

  get #isActive(): boolean {
    return this.#isHeld && !this.#isClosed && this.#parts.records.fault === null;
  }

  /** First it is found out which bots are this node's, then they are started. */
  async #reconcile(): Promise<void> {
    if (!this.#isActive) return;
    const lease = this.#lease;
    const all = Promise.all(this.#ids().map((id) => this.#look(id)));
    await withTimeout(all, SETTLE_MS, () => {});
    if (lease !== this.#lease || !this.#isActive) return;
    if (!this.#mayStart) {
      // Records that were loaded again meanwhile have led here, too.
      if (this.#settling === lease) return;
      this.#settling = lease;
      try {
        await this.#parts.settled(this.#own());
      } catch (thrown) {
        this.#settling = 0;
        this.#parts.say('error', `the bots of this node do not start: ${messageOf(thrown)}`);
        this.#later(() => this.#reconcile());
        return;
      }
      if (lease !== this.#lease) return;
      this.#mayStart = true;
      this.#wasSettled = true;
    }
    for (const id of this.#ids()) void this.#look(id);
  }

  #ids(): string[] {
    const { bots, records, node } = this.#parts;
    const own = bots.specs().map(({ id }) => id);
    return [...new Set([...own, ...records.on(node), ...this.#handedOver])];
  }

  #own(): string[] {
    const { bots, records, node } = this.#parts;
    const isOwn = ({ id, term }: BotSpec): boolean => {
      const record = records.get(id);
      // Of one that gets its record later; a node with a higher term is believed instead.
      if (!record) return term !== undefined;
      return record.node === node && record.term === term && record.state !== 'free';
    };
    return bots
      .specs()
      .filter(isOwn)
      .map(({ id }) => id);
  }

  /** Never rejects. */
  async #look(id: string): Promise<void> {
    const { bots, records, node } = this.#parts;
    // Most changes are about bots of others.
    const isHere = bots.specOf(id) !== undefined || this.#handedOver.has(id);
    const isOurs = isHere || records.get(id)?.node === node;
    if (this.#isActive && isOurs) await this.#turns.ask(id);
  }

  #tryLater(id: string, reason: string): void {
    this.#sayOnce(id, 'warn', `bot ${id}: ${reason}; tried again`);
    this.#later(() => this.#look(id));
  }

  #later(task: () => Promise<void>): void {
    const timer = setTimeout(() => {
      this.#retries.delete(timer);
      void task();
    }, RETRY_MS);
    this.#retries.add(timer);
  }

  async #apply(id: string): Promise<void> {
    const { bots, records, store, node } = this.#parts;
    if (!this.#isActive || store.isBusy(id)) return;
    const record = records.get(id);
    const spec = bots.specOf(id);
    if (records.isUnreadable(id)) {
      if (spec) await store.repair(spec);
      return;
    }
    if (!record) {
      if (spec) await this.#unrecorded(spec);
      else if (this.#handedOver.has(id)) await this.#takeBack(id);
      return;
    }
    if (record.node !== node || record.state === 'free') {
      if (spec) await this.#notOwn(spec, record);
      else if (this.#isTaken(record)) await this.#forget(id);
      return;
    }
    // Its record knows better.
    if (this.#handedOver.has(id)) await this.#forget(id);
    if (spec && spec.term === undefined) return this.#known(spec, record);
    if (record.state === 'leaving') return this.#leave(spec, record);
    await this.#take(spec, record);
  }

  /** A bot of this node. */
  async #take(spec: BotSpec | undefined, record: BotRecord): Promise<void> {
    const { bots, store } = this.#parts;
    const lease = this.#lease;
    const { id } = record.spec;
    // A higher term than that of the record: NATS has lost what it had accepted.
    const has = spec?.term !== undefined && spec.term >= record.term;
    // Before it is claimed: one whose secrets this node cannot read is given to another.
    const given = has ? null : store.specOf(record);
    // What this node has of an earlier term, before the claim: it is lost with what is forgotten.
    if (given !== null && spec) await bots.release(id, () => store.forget(id));
    if (lease !== this.#lease) return;
    // Also one that stays: it may have been changed here while NATS was away.
    if (!store.isClaimed(id) || (has && spec.term !== record.term)) {
      // Of an older term its record knows better.
      const isStill = await store.claim(id, record.term, has ? spec : undefined);
      // It has changed meanwhile, and is looked at again.
      if (!isStill || lease !== this.#lease) return;
    } else if (has) {
      await store.uploadDirty(spec);
    }
    if (!this.#mayStart || lease !== this.#lease) return;
    if (given === null) {
      await bots.allowStart(id);
    } else {
      await bots.adopt(given);
    }
    this.#said.delete(id);
  }

  /** The leader wants it elsewhere. */
  async #leave(spec: BotSpec | undefined, record: BotRecord): Promise<void> {
    const { bots, store } = this.#parts;
    const { id } = record.spec;
    if (spec) {
      await bots.keepStopped(id, 'stopped: it moves to another node');
      await this.#parts.flush();
    }
    // As it is now: it may have been changed while it stopped. Not what is older than the record.
    const own = bots.specOf(id);
    if (own) await store.giveAway(own);
    await store.free(own?.term === record.term ? own : undefined, record);
  }

  /** Another node has it, or is to have it. */
  async #notOwn(spec: BotSpec, record: BotRecord): Promise<void> {
    const { bots, store } = this.#parts;
    const { id } = spec;
    if (spec.term === undefined && spec.incarnation !== record.spec.incarnation) {
      await this.#namesake(id, record);
      return;
    }
    if (store.isNewer(spec, record)) {
      // The other may have started it.
      const reason = 'stopped: NATS has lost its record, and another node has made one';
      await Promise.all([bots.keepStopped(id, reason), store.reclaim(spec)]);
      return;
    }
    const isTaken = this.#isTaken(record);
    await bots.release(id, async () => {
      if (isTaken) return store.forget(id);
      await store.giveAway(spec);
      store.disown(id);
    });
    if (!isTaken) this.#handedOver.add(id);
    this.#said.delete(id);
  }

  /** Whether another node has it. Until then NATS alone would have it. */
  #isTaken({ node, state }: BotRecord): boolean {
    return node !== this.#parts.node && state === 'placed';
  }

  async #forget(id: string): Promise<void> {
    await this.#parts.store.forget(id);
    this.#handedOver.delete(id);
  }

  /** It was given away, and its record is gone. */
  async #takeBack(id: string): Promise<void> {
    const { bots, store, records } = this.#parts;
    const spec = store.all().find((one) => one.id === id);
    if (spec?.term !== undefined && !records.isDeleted(id)) {
      if (this.#mayRunElsewhere(id)) return;
      await store.introduce(spec, spec.term);
      await bots.adopt(spec);
      this.#handedOver.delete(id);
    } else await this.#forget(id);
  }

  /**
   * The cluster has had it, and has no record of it: the bucket was made again, and another node that has been given it since makes the
   * record when it notices that. Not of one that is claimed: that is given to nobody. If it may, it is looked at again.
   */
  #mayRunElsewhere(id: string): boolean {
    const { records, store } = this.#parts;
    if (store.isClaimed(id) || records.isComplete) return false;
    this.#later(() => this.#look(id));
    return true;
  }

  /** This node's record is of a bot that it has without a term: it was about to get one, or it is another bot. */
  async #known(spec: BotSpec, record: BotRecord): Promise<void> {
    if (spec.incarnation !== record.spec.incarnation) {
      await this.#namesake(spec.id, record);
      return;
    }
    await this.#parts.bots.assignTerm(spec.id, record.term);
    await this.#take(this.#parts.bots.specOf(spec.id), record);
  }

  /** The cluster does not know it. */
  async #unrecorded(spec: BotSpec): Promise<void> {
    const { bots, store, records } = this.#parts;
    const { id, term } = spec;
    if (term !== undefined && store.has(id) && records.isDeleted(id)) {
      // The answer to that did not reach this node, or it was removed from the cluster. Nobody else says that it is gone.
      await bots.act(id, 'delete');
      return;
    }
    if (term !== undefined && this.#mayRunElsewhere(id)) return;
    const given = term ?? records.firstTerm;
    await store.introduce(spec, given);
    if (term === undefined) await bots.assignTerm(id, given);
    if (this.#mayStart) await bots.allowStart(id);
  }

  /** Two services had a bot with one id before they joined, or have it in their configuration. */
  async #namesake(id: string, { node }: BotRecord): Promise<void> {
    const { bots, store } = this.#parts;
    if (!store.has(id)) {
      await bots.release(id, async () => {});
      return;
    }
    const reason = `not started: the cluster has another bot with its id, on the node ${node}`;
    store.leave(id, reason);
    await bots.keepStopped(id, reason);
    this.#sayOnce(id, 'error', `bot ${id} is kept stopped: ${reason.slice(13)}`);
  }

  #sayOnce(id: string, level: 'warn' | 'error', line: string): void {
    if (this.#said.get(id) === line) return;
    this.#said.set(id, line);
    this.#parts.say(level, line);
  }
}
