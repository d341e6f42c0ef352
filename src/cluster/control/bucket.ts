// In main. A key-value bucket of a cluster: makes it, checks its version, and reads and writes what is in it. Each value is signed (with a
// key of the cluster) and checked; what is none is told apart, and can be removed.
//
// A removal is signed too: NATS takes a marker with a body. The signature names the revision that is replaced; for a key that has none, a
// revision at which the bucket did not have the key. Who knows a later one of the key takes it for none: so neither an earlier value that
// somebody stores again counts, nor one that NATS has refused. Revisions count from 1 in a bucket that is made again, so the signature
// names when the bucket was made, too.

import { DroverError, messageOf } from '../../shared/errors.js';
import { checkNamed, type Named } from '../wire/bus-validators.js';
import { PROTOCOL, READABLE } from '../wire/names.js';
import {
  headers,
  JetStreamApiError,
  jetstream,
  jetstreamManager,
  type KV,
  Kvm,
  type NatsConnection,
} from '../wire/nats.js';
import { agreeOnProtocol, DESCRIPTION } from '../wire/protocol-description.js';
import { isWrongSequence, wrongSequence } from '../wire/reasons.js';
import type { Context, Signer } from '../wire/signer.js';

const OPERATION = 'KV-Operation';
/** What NATS takes as a key. */
const KEY = /^[-/=\w]+(\.[-/=\w]+)*$/;
/** Attempts of a write that nothing else depends on: others write at the same time. */
const ATTEMPTS = 16;
/** Values that are none whose keys are remembered. More are not listed, and are repaired as these are. */
const MAX_FAULTS = 1000;
/** What is none is said so often in a minute: others can write as often as they like. */
const MAX_NEWS = 60;
const NEWS_MS = 60_000;
const REMOVED = JSON.stringify({ v: PROTOCOL });
/** Nothing was removed: what was there was no value. */
const CLEARED_FIELD = '"cleared":true';
const CLEARED = `{"v":${PROTOCOL},${CLEARED_FIELD}}`;

type What = 'record' | 'removal';

export interface BucketOptions<T> {
  name: string;
  replicas: number;
  /** How long NATS has to answer, in ms. */
  answerMs: number;
  /** After this, in ms, a value is gone. */
  ttlMs?: number;
  signer: Signer;
  /** Whether a key is one that this release knows. It leaves others alone. */
  knows: (key: string) => boolean;
  /** @throws Error that says why the text is no value of this key. */
  read: (key: string, text: string) => T;
}

/** What a key has. */
export interface Entry<T> {
  revision: number;
  /** Null for what was removed, and for what is no value. */
  value: T | null;
  /** There is a marker that it was removed; by a node, when there is no fault. */
  isRemoved: boolean;
  /** It was no value that was removed: then nobody has removed one. */
  isCleared: boolean;
  /** Signed with the first key of this node. */
  isCurrent: boolean;
  fault: Fault | null;
}

/** Why something is no value, in one line. */
export interface Fault {
  revision: number;
  reason: string;
  /** It is of a later version: others can read it. */
  isLater: boolean;
  /** It was removed, and somebody has stored an earlier value again, or a marker that no node has written. */
  hidesRemoval: boolean;
  /** Not the same as before, and not too many: it is to be said. */
  isNews: boolean;
}

/** Its value is of a later version than this release reads. */
export class LaterValueError extends Error {
  constructor(v: unknown) {
    super(`it has version ${v}, this node knows ${READABLE}: update this node`);
  }
}

/** What the schema of records has by this name. @throws LaterValueError; DroverError that says why the value is none. */
export function checkRecord<R extends { v: number }>(name: Named<'BusRecords'>, value: unknown): R {
  const { v } = (value ?? {}) as Partial<R>;
  if (Number(v) > READABLE) throw new LaterValueError(v);
  checkNamed('BusRecords', name, value);
  return value as R;
}

class EarlierValueError extends Error {
  constructor() {
    super('it is an earlier one that somebody has written again');
  }
}

export class Bucket<T> {
  readonly #nats: NatsConnection;
  readonly #options: BucketOptions<T>;
  #kv: KV | undefined;
  #created = '';
  /** When this node has begun with what the bucket is now, by its monotonic clock. */
  #begunMs = performance.now();
  #ttlMs = 0;
  /** The highest revision of the bucket that is known here. */
  #highest = 0;
  /** The highest that NATS had given before it lost some. */
  #lost = 0;
  /** The values and removals that were accepted. Bounded by the bucket. */
  readonly #accepted = new Map<string, { revision: number; isRemoval: boolean }>();
  readonly #faults = new Map<string, Fault>();
  /** Since then so much was told. */
  #newsMs = Number.NEGATIVE_INFINITY;
  #news = 0;

  constructor(nats: NatsConnection, options: BucketOptions<T>) {
    this.#nats = nats;
    this.#options = options;
  }

  get name(): string {
    return this.#options.name;
  }

  /** When it was made: another bucket with the same name has another. */
  get created(): string {
    return this.#created;
  }

  /** After this, in ms, a value is gone; 0 for never. Perhaps not what was asked for. */
  get ttlMs(): number {
    return this.#ttlMs;
  }

  /** Keys with what is no value. */
  get faults(): ReadonlyMap<string, Fault> {
    return this.#faults;
  }

  /** Makes it if it is not there. @throws StartupError when it is of another version, or of another program; an error of JetStream. */
  async open(): Promise<KV> {
    const { name, replicas, answerMs, ttlMs } = this.#options;
    const options = { timeout: answerMs };
    const kv = await new Kvm(jetstream(this.#nats, options)).create(name, {
      description: DESCRIPTION,
      history: 1,
      replicas,
      ...(ttlMs !== undefined && { ttl: ttlMs }),
      // Every read is the leader's: another copy may be behind.
      allow_direct: false,
    });
    const { streamInfo, ttl } = await kv.status();
    const manager = await jetstreamManager(this.#nats, { ...options, checkAPI: false });
    await agreeOnProtocol(manager, `the NATS bucket ${name}`, streamInfo);
    const created = String(streamInfo.created);
    if (created !== this.#created) this.begin(created, streamInfo.state.last_seq);
    this.#ttlMs = ttl;
    this.#highest = Math.max(this.#highest, streamInfo.state.last_seq);
    this.#kv = kv;
    return kv;
  }

  get isOpen(): boolean {
    return this.#kv !== undefined;
  }

  /** What was known of it is of another bucket, or NATS has lost it. @param lastSeq the highest revision that it has given. */
  begin(created: string, lastSeq: number): void {
    this.#lost = created === this.#created ? Math.max(this.#lost, this.#highest) : 0;
    this.#created = created;
    this.#accepted.clear();
    this.#faults.clear();
    this.#highest = lastSeq;
    this.#begunMs = performance.now();
  }

  /**
   * Grows with the revisions, and is above all of an earlier bucket with its name, which this node may not have seen: no bucket gets 1000
   * revisions a second for as long as it exists.
   */
  get ordinal(): number {
    return Date.parse(this.#created) + Math.max(this.#highest, this.#lost);
  }

  /** For how long it has been, as far as is known, the bucket that it is now, in ms. */
  get ageMs(): number {
    return performance.now() - this.#begunMs;
  }

  knows(key: string): boolean {
    return this.#options.knows(key);
  }

  /** What the bucket has for a key, as it was read. */
  read(key: string, revision: number, isRemoved: boolean, data: Uint8Array): Entry<T> {
    this.#highest = Math.max(this.#highest, revision);
    try {
      const { text, stamp, isCurrent } = this.#opened(key, isRemoved, data);
      const before = this.revisionOf(key);
      if (stamp !== null && revision > before && stamp < before) throw new EarlierValueError();
      const value = isRemoved ? null : this.#options.read(key, text);
      const isCleared = isRemoved && text.includes(CLEARED_FIELD);
      this.#accept(key, revision, isCleared ? this.#isRemoved(key) : isRemoved);
      return { revision, value, isRemoved, isCleared, isCurrent, fault: null };
    } catch (thrown) {
      const isLater = thrown instanceof LaterValueError;
      const reason = messageOf(thrown);
      const before = this.#faults.get(key);
      const isKept = before !== undefined || this.#faults.size < MAX_FAULTS;
      const isNews = isKept && before?.reason !== reason && this.#mayTell();
      const hidesRemoval =
        this.#isRemoved(key) && (isRemoved || thrown instanceof EarlierValueError);
      const fault = { revision, reason, isLater, hidesRemoval, isNews };
      if (isKept) this.#faults.set(key, fault);
      const nothing = { value: null, isCleared: false, isCurrent: false };
      return { revision, isRemoved, ...nothing, fault };
    }
  }

  #mayTell(): boolean {
    const now = performance.now();
    if (now - this.#newsMs >= NEWS_MS) {
      this.#newsMs = now;
      this.#news = 0;
    }
    this.#news += 1;
    return this.#news <= MAX_NEWS;
  }

  /** Of the last value or removal that was accepted; 0 for none. */
  revisionOf(key: string): number {
    return this.#accepted.get(key)?.revision ?? 0;
  }

  /** There is nothing for a key any more. */
  vanished(key: string): void {
    this.#faults.delete(key);
  }

  /** Null when there is nothing for it. */
  async get(key: string): Promise<Entry<T> | null> {
    const created = this.#created;
    const stored = await this.#open.get(key);
    if (!stored) return null;
    const entry = this.read(key, stored.revision, stored.operation !== 'PUT', stored.value);
    return entry.fault && (await this.#isAnother(created)) ? this.get(key) : entry;
  }

  /** @param expected the revision that is replaced, 0 for none. @returns the new one. @throws an error of JetStream. */
  async put(key: string, value: T, expected: number): Promise<number> {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return await this.#store('record', key, expected, text, (signed, previousSeq) =>
      this.#open.put(key, signed, { previousSeq }),
    );
  }

  /** Of a key that has no value, or whose value was removed. @throws an error of JetStream, of the wrong sequence when it has one. */
  async create(key: string, value: T): Promise<number> {
    try {
      return await this.put(key, value, 0);
    } catch (thrown) {
      if (!isWrongSequence(thrown)) throw thrown;
      const entry = await this.get(key);
      if (!entry?.isRemoved) throw thrown;
      return await this.put(key, value, entry.revision);
    }
  }

  /** Over any value that the key has. */
  async set(key: string, value: T): Promise<void> {
    await this.#attempts(async () => {
      await this.put(key, value, (await this.get(key))?.revision ?? 0);
    });
  }

  /** Leaves a marker. @param expected the revision that is removed; undefined for any that the key has. */
  async remove(key: string, expected?: number): Promise<void> {
    if (expected === undefined) {
      await this.#attempts(async () => {
        const entry = await this.get(key);
        if (entry && (!entry.isRemoved || entry.fault)) await this.remove(key, entry.revision);
      });
      return;
    }
    await this.#mark(key, expected, REMOVED);
  }

  /** Removes what {@link Fault.hidesRemoval}. @throws an error of JetStream. */
  async removeAgain(key: string): Promise<void> {
    await this.#attempts(async () => {
      const entry = await this.get(key);
      if (entry?.fault?.hidesRemoval) await this.#mark(key, entry.revision, REMOVED);
    });
  }

  /** Writes a value in the place of what is none. What is of a later version is left. @returns the revision, 0 when nothing was written. */
  async repair(key: string, value: T): Promise<number> {
    const { fault, revision = 0 } = (await this.get(key)) ?? {};
    return fault && !fault.isLater ? await this.put(key, value, revision) : 0;
  }

  /** Removes what is no value. @returns whether there was such a thing. */
  async clear(key: string): Promise<boolean> {
    if (!this.knows(key) || !KEY.test(key)) return false;
    const wasFound = this.#faults.has(key);
    let isCleared = false;
    await this.#attempts(async () => {
      const entry = await this.get(key);
      isCleared = wasFound || Boolean(entry?.fault);
      // NATS may have dropped it by itself, and nobody was told.
      const isLeft = entry ? entry.fault : wasFound;
      if (isLeft) await this.#mark(key, entry?.revision ?? 0, CLEARED);
    });
    return isCleared;
  }

  async #mark(key: string, expected: number, text: string): Promise<void> {
    const marker = headers();
    marker.set(OPERATION, 'DEL');
    const { answerMs, name } = this.#options;
    const client = jetstream(this.#nats, { timeout: answerMs });
    await this.#store('removal', key, expected, text, async (signed, lastSubjectSequence) => {
      const expect = { lastSubjectSequence };
      return (await client.publish(`$KV.${name}.${key}`, signed, { headers: marker, expect })).seq;
    });
  }

  /** @returns the revision. */
  async #store(
    what: What,
    key: string,
    expected: number,
    text: string,
    write: (signed: string, expected: number) => Promise<number>,
  ): Promise<number> {
    const created = this.#created;
    const highest = this.#highest;
    const stamp = expected === 0 ? await this.#seenWithout(key) : expected;
    const signed = this.#options.signer.sign(this.#context(what, key), stamp, text);
    const revision = await write(signed, expected);
    // It was signed for the earlier bucket.
    if (revision <= highest && (await this.#isAnother(created)))
      return await this.#store(what, key, revision, text, write);
    this.#accept(key, revision, text === CLEARED ? this.#isRemoved(key) : what === 'removal');
    return revision;
  }

  /** @returns a revision at which the bucket did not have the key. @throws an error of JetStream, of the wrong sequence when it has it. */
  async #seenWithout(key: string): Promise<number> {
    const highest = this.#highest;
    if (await this.#open.get(key)) throw wrongSequence();
    return highest;
  }

  /** Whether the bucket was made again after `created`: the watch may not have seen it yet. */
  async #isAnother(created: string): Promise<boolean> {
    if (this.#created === created) await this.open();
    return this.#created !== created;
  }

  get #open(): KV {
    if (!this.#kv) throw new DroverError('unavailable', `the NATS bucket ${this.name} is not open`);
    return this.#kv;
  }

  #opened(key: string, isRemoved: boolean, data: Uint8Array) {
    const text = new TextDecoder().decode(data);
    return this.#options.signer.open(this.#context(isRemoved ? 'removal' : 'record', key), text);
  }

  #context(what: What, key: string): Context {
    return [what, this.name, this.#created, key];
  }

  #isRemoved(key: string): boolean {
    return this.#accepted.get(key)?.isRemoval === true;
  }

  #accept(key: string, revision: number, isRemoval: boolean): void {
    this.#highest = Math.max(this.#highest, revision);
    if (revision >= this.revisionOf(key)) this.#accepted.set(key, { revision, isRemoval });
    const fault = this.#faults.get(key);
    if (fault && fault.revision <= revision) this.#faults.delete(key);
  }

  async #attempts(write: () => Promise<void>): Promise<void> {
    for (let n = 1; ; n++) {
      try {
        return await write();
      } catch (thrown) {
        const isConflict = thrown instanceof JetStreamApiError && isWrongSequence(thrown);
        if (!isConflict || n === ATTEMPTS) throw thrown;
      }
    }
  }
}
