// Runs in main. Owns this node's view of the records of a bucket, those of bots or others, and all writes to them.

import { DroverError, messageOf } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import { parseJson } from '../wire/bus-validators.js';
import { idOfKey, isReserved, keyOf } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import { isWrongSequence } from '../wire/reasons.js';
import type { Signer } from '../wire/signer.js';
import { Bucket, checkRecord, type Entry } from './bucket.js';
import { KvWatch, NOTICED_MS } from './kv-watch.js';
import type { BotRecord } from './parts.js';
import { BotTable, RecordTable, type Revised } from './record-table.js';

/** Attempts of one change: others write at the same time. */
const ATTEMPTS = 16;
/** How long NATS has to answer, in ms. */
const ANSWER_MS = 4000;
/** So long after they were current, changes wait for that to be so again, in ms: a reconnect is no reason to refuse them. */
const PATIENCE_MS = 2000;
/** Writes that are on their way at once. */
const WRITES = 128;
/** Writes that wait. Each is one request of a client, or one bot; more are refused as `overloaded`. */
const WAITING_WRITES = 100_000;

export interface RecordsOptions<R> {
  /** Name of the bucket. */
  bucket: string;
  replicas: number;
  signer: Signer;
  /** What a record is about, for messages. */
  noun: string;
  /** A record of the bucket. @throws Error that says why it cannot be read. */
  read(id: string, text: string): R;
  /** A line for the operator. */
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class Records<R> {
  readonly #options: RecordsOptions<R>;
  readonly #watch: KvWatch<R>;
  readonly bucket: Bucket<R>;
  readonly #table: RecordTable<R>;
  readonly #listeners = new Set<(id: string) => void>();
  readonly #loadListeners = new Set<() => void>();
  readonly #writes = new Semaphore({ permits: WRITES, maxQueued: WAITING_WRITES });
  #wasLoaded = false;
  #fault: string | null;
  /** Resolves when they are current again, or patience has ended. */
  #back: Promise<void> = Promise.resolve();
  #isBack: () => void = () => {};

  constructor(nats: NatsConnection, options: RecordsOptions<R>, table = new RecordTable<R>()) {
    this.#options = options;
    this.#table = table;
    const { bucket: name, replicas, signer, noun, read } = options;
    this.#fault = `the records of the ${noun}s are not loaded yet`;
    this.bucket = new Bucket(nats, {
      ...{ name, replicas, signer, answerMs: ANSWER_MS },
      knows: (key) => !isReserved(key),
      read: (key, text) => read(idOfKey(key), text),
    });
    this.#watch = new KvWatch(nats, this.bucket, {
      entry: (key, entry) => this.#told(idOfKey(key), entry),
      vanished: (key) => this.#forget(idOfKey(key)),
      loaded: () => this.#loaded(),
      interrupted: (reason) => this.#interrupted(reason),
    });
  }

  /** Resolves when changes are accepted. @throws DroverError `unavailable` when that is not soon. */
  async expectCurrent(): Promise<void> {
    await this.#back;
    if (this.#fault !== null) throw refusedChange(this.#fault);
  }

  /** Why they are not current, in one line; null when they are. Changes are refused meanwhile. */
  get fault(): string | null {
    return this.#fault;
  }

  /** They were current once. */
  get wasLoaded(): boolean {
    return this.#wasLoaded;
  }

  get(id: string): Readonly<R> | undefined {
    return this.#table.get(id)?.record;
  }

  /** A record with its revision, for {@link replace}. */
  entry(id: string): Readonly<Revised<R>> | undefined {
    return this.#table.get(id);
  }

  /** Whether it was deleted, as far as is known. */
  isDeleted(id: string): boolean {
    return this.#table.deletedAt(id) !== undefined;
  }

  /** Whether there is a record that this version cannot read. */
  isUnreadable(id: string): boolean {
    return this.#table.isUnreadable(id);
  }

  get size(): number {
    return this.#table.size;
  }

  ids(): Iterable<string> {
    return this.#table.ids();
  }

  /** Keys with their revisions, as this node has seen them; none while it may have missed something. */
  *revisions(): Iterable<[key: string, revision: number]> {
    if (this.#fault !== null) return;
    for (const id of this.ids()) {
      const revision = this.#table.get(id)?.revision;
      if (revision !== undefined) yield [keyOf(id), revision];
    }
  }

  /** Called after each change of a record, and of its being there. @returns a function that ends it. */
  onChange(listener: (id: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called each time that all records are current again after they were not. @returns a function that ends it. */
  onLoaded(listener: () => void): () => void {
    this.#loadListeners.add(listener);
    return () => this.#loadListeners.delete(listener);
  }

  /** @throws DroverError `conflict` when there is a record, `unavailable`. */
  create(id: string, record: R): Promise<void> {
    return this.#write(async (bucket) => {
      try {
        this.#set(id, record, await bucket.create(keyOf(id), record));
      } catch (thrown) {
        if (isWrongSequence(thrown))
          throw new DroverError('conflict', `${this.#options.noun} ${id} exists already`);
        throw thrown;
      }
    });
  }

  /**
   * Changes a record. @param next gets the present one, perhaps several times, and returns the new one, or null to leave it as it is.
   * @returns the new one, or null when there is none or it was left. @throws DroverError `unavailable`.
   */
  change(id: string, next: (record: R) => R | null): Promise<R | null> {
    return this.#write((bucket) =>
      this.#attempts(id, bucket, async (record, revision) => {
        const changed = next(record);
        if (changed === null) return null;
        this.#set(id, changed, await bucket.put(keyOf(id), changed, revision));
        return changed;
      }),
    );
  }

  /** Writes a record if it has not changed since. @returns false when it has. @throws DroverError `unavailable`. */
  replace(id: string, { revision }: Revised<R>, record: R): Promise<boolean> {
    return this.#write(async (bucket) => {
      try {
        this.#set(id, record, await bucket.put(keyOf(id), record, revision));
        return true;
      } catch (thrown) {
        if (!isWrongSequence(thrown)) throw thrown;
        await this.#refresh(id, bucket);
        return false;
      }
    });
  }

  /** Writes a record in the place of what is none. One of a later version is left. */
  repair(id: string, record: R): Promise<void> {
    return this.#write(async (bucket) => {
      const revision = await bucket.repair(keyOf(id), record);
      if (revision > 0) this.#set(id, record, revision);
    });
  }

  /** Removes a record that `may` accepts. @returns whether it was removed. @throws DroverError `unavailable`. */
  async remove(id: string, may: (record: R) => boolean): Promise<boolean> {
    const removed = await this.#write((bucket) =>
      this.#attempts(id, bucket, async (record, revision) => {
        if (!may(record)) return null;
        await bucket.remove(keyOf(id), revision);
        // Its revision comes by the watch; it is higher than this one.
        this.#setDeleted(id, revision + 1);
        return record;
      }),
    );
    return removed !== null;
  }

  /** Removes what is no record, for all nodes. @throws DroverError `unavailable`, also for one of a later version. */
  removeUnreadable(id: string): Promise<void> {
    return this.#write(async (bucket) => {
      const { fault } = (await bucket.get(keyOf(id))) ?? {};
      if (fault?.isLater) throw refusedChange(fault.reason);
      await bucket.remove(keyOf(id));
      this.#setDeleted(id, bucket.revisionOf(keyOf(id)));
    });
  }

  /** As NATS has it now; null when there is none. @throws Error, a DroverError when what it has is none. */
  async ask(id: string): Promise<R | null> {
    if (!this.bucket.isOpen) await this.bucket.open();
    const { value = null, fault } = (await this.bucket.get(keyOf(id))) ?? {};
    if (!fault) return value;
    const { noun, bucket } = this.#options;
    const why = `what the bucket ${bucket} has for the ${noun} ${id} is none: ${fault.reason}`;
    throw new DroverError('unavailable', `${why} (drover nodes remove-record)`);
  }

  close(): void {
    this.#watch.close();
    this.#isBack();
  }

  async #attempts(
    id: string,
    bucket: Bucket<R>,
    attempt: (record: R, revision: number) => Promise<R | null>,
  ): Promise<R | null> {
    for (let n = 0; n < ATTEMPTS; n += 1) {
      const entry = this.#table.get(id);
      if (!entry) return null;
      try {
        return await attempt(entry.record, entry.revision);
      } catch (thrown) {
        if (!isWrongSequence(thrown)) throw thrown;
        if (!(await this.#refresh(id, bucket))) return null;
      }
    }
    throw new DroverError(
      'unavailable',
      `the record of ${this.#options.noun} ${id} changes all the time`,
    );
  }

  /** Takes what the bucket has. @returns whether that has a record, or a marker. */
  async #refresh(id: string, bucket: Bucket<R>): Promise<boolean> {
    const stored = await bucket.get(keyOf(id));
    // NATS has lost what it had acknowledged: what it has counts, or no change would be accepted any more.
    if ((stored?.revision ?? 0) < this.#table.revisionOf(id)) this.#forget(id);
    if (stored === null) return false;
    this.#told(id, stored);
    return true;
  }

  /** @throws DroverError `unavailable` unless all records are current. */
  async #write<T>(task: (bucket: Bucket<R>) => Promise<T>): Promise<T> {
    await this.expectCurrent();
    return this.#writes.run(async () => {
      if (this.#fault !== null) throw refusedChange(this.#fault);
      try {
        return await task(this.bucket);
      } catch (thrown) {
        if (thrown instanceof DroverError) throw thrown;
        throw refusedChange(messageOf(thrown));
      }
    });
  }

  #loaded(): void {
    this.#wasLoaded = true;
    this.#fault = null;
    this.#isBack();
    for (const listener of this.#loadListeners) listener();
  }

  #interrupted(reason: string): void {
    if (this.#fault !== reason) {
      const { bucket, say } = this.#options;
      say('warn', `the bucket ${bucket} cannot be followed: ${reason}`);
    }
    if (this.#fault === null) this.#wait();
    this.#fault = reason;
  }

  #wait(): void {
    this.#back = new Promise((resolve) => {
      const timer = setTimeout(resolve, PATIENCE_MS);
      this.#isBack = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #told(id: string, { value, revision, isRemoved, isCleared, fault }: Entry<R>): void {
    if (isCleared) this.#forget(id);
    else if (fault) {
      const line = `the record of ${this.#options.noun} ${id} is left as it is: ${fault.reason}`;
      if (fault.isNews) this.#options.say('error', line);
      if (fault.hidesRemoval) {
        // What NATS does not take now is told again.
        this.#write((bucket) => bucket.removeAgain(keyOf(id))).catch(() => {});
        return;
      }
      // It is said to be removed, and no node has said so.
      if (isRemoved) this.#forget(id);
      else this.#setUnreadable(id);
    } else if (value === null) this.#setDeleted(id, revision);
    // Written by this node, or told in an earlier round.
    else if (revision > this.#table.revisionOf(id)) this.#set(id, value, revision);
  }

  #setUnreadable(id: string): void {
    this.#table.setUnreadable(id);
    this.#notify(id);
  }

  #set(id: string, record: R, revision: number): void {
    if (this.#table.set(id, record, revision)) this.#notify(id);
  }

  #setDeleted(id: string, revision: number): void {
    if (this.#table.setDeleted(id, revision)) this.#notify(id);
  }

  /** There is neither a record nor a marker. */
  #forget(id: string): void {
    this.#table.drop(id);
    this.#notify(id);
  }

  #notify(id: string): void {
    for (const listener of this.#listeners) listener(id);
  }
}

export class BotRecords extends Records<BotRecord> {
  readonly #bots: BotTable;

  constructor(nats: NatsConnection, options: Omit<RecordsOptions<BotRecord>, 'noun' | 'read'>) {
    const bots = new BotTable();
    super(nats, { ...options, noun: 'bot', read: readBotRecord }, bots);
    this.#bots = bots;
  }

  /** Bots whose record names this node. */
  on(node: string): ReadonlySet<string> {
    return this.#bots.on(node);
  }

  /** The nodes that records name. */
  nodes(): Iterable<string> {
    return this.#bots.nodes();
  }

  /** Bots of a host group. */
  inGroup(group: string): ReadonlySet<string> {
    return this.#bots.inGroup(group);
  }

  /**
   * Whether every node has had the time to bring its bots back, if the bucket was made again. Before that a bot without a record may run
   * on another node.
   */
  get isComplete(): boolean {
    return this.bucket.ageMs >= NOTICED_MS;
  }

  /** A new bot's first term: above each that an earlier bot with its id had, also before the bucket was made again. */
  get firstTerm(): number {
    return this.bucket.ordinal + 1;
  }
}

/** Nothing of a change is stored. */
export function refusedChange(reason: string): DroverError {
  return new DroverError('unavailable', `the cluster does not accept the change: ${reason}`, 1);
}

/**
 * How a node reads the record of a bot that another has written, perhaps one of another version.
 * Fields that it does not know are part of the result: a node that changes the record writes them again.
 * @param bot the id that the record's key names. @throws Error that says why it cannot be read
 */
export function readBotRecord(bot: string, text: string): BotRecord {
  const record = checkRecord<BotRecord>('bot', parseJson(text));
  if (record.spec.id !== bot) throw new Error('it is not of this bot');
  return record;
}
