// Runs in main. Owns this node's connection to the bucket of tokens: makes it, follows it, and writes to it.

import { idOfKey, isReserved, keyOf, PROTOCOL, READABLE } from '../../shared/cluster/names.js';
import type { KV, NatsConnection } from '../../shared/cluster/nats.js';
import { isWrongSequence } from '../../shared/cluster/reasons.js';
import type { TokenRecord, TokenUse } from '../../shared/contract/tokens.js';
import { messageOf } from '../../shared/errors.js';
import { openBucket } from './bucket.js';
import { KvWatch } from './kv-watch.js';

/** How long NATS has to answer, in ms. */
const ANSWER_MS = 4000;
/** Key of what tells whether all nodes have the same secret key. */
const KEY_CHECK = '_secret_key';

/** Value of a key: the token by its digest, as it is stored on its node. */
export interface SharedToken {
  v: number;
  /** The node that made it. */
  node: string;
  record: TokenRecord;
  /** The last use, half a day late at most; null before the first. */
  use: TokenUse | null;
}

export interface TokensBucketOptions {
  bucket: string;
  replicas: number;
  /** Of this node's secret key; null without one. */
  keyCheck: string | null;
  /** What the bucket has when it is current, and each change after that. Null: the token was removed. */
  loaded(tokens: ReadonlyMap<string, SharedToken | null>): void;
  changed(id: string, token: SharedToken | null): void;
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class TokensBucket {
  readonly #options: TokensBucketOptions;
  readonly #watch: KvWatch;
  readonly #nats: NatsConnection;
  #kv: KV | undefined;
  #created = '';
  /** The bucket was made again: what it does not have was not removed. */
  #isRemade = false;
  /** What has come since the watch began, until it has told everything. Bounded by the bucket. */
  #round: Map<string, SharedToken | null> | null = new Map();
  /** The tokens that it has, with the time of the last use that it knows, or of their creation. */
  readonly #present = new Map<string, number>();
  #hasKeyCheck = false;
  #fault: string | null = 'NATS was not reached yet';
  #keyFault: string | null = null;

  constructor(nats: NatsConnection, options: TokensBucketOptions) {
    this.#options = options;
    this.#nats = nats;
    this.#watch = new KvWatch(nats, () => this.#open(), {
      entry: (key, value) => this.#told(key, value),
      vanished: (key) => this.#vanished(key),
      loaded: () => this.#loaded(),
      interrupted: (reason) => this.#interrupted(reason),
    });
  }

  /** Why it is not current, in one line; null when it is. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Why this node cannot read the secrets of the others, in one line; null when it can, as far as is known. */
  get keyFault(): string | null {
    return this.#keyFault;
  }

  has(id: string): boolean {
    return this.#present.has(id);
  }

  /** @throws Error in one line. */
  async put(id: string, token: SharedToken): Promise<void> {
    await this.#current().put(keyOf(id), JSON.stringify(token));
    this.#present.set(id, lastUseOf(token));
  }

  /** How late the last use that it knows is, in ms; null when it does not have the token. */
  lagOf(id: string, { at_ms }: TokenUse): number | null {
    const known = this.#present.get(id);
    return known === undefined ? null : at_ms - known;
  }

  /** Keeps a later use. A token that was removed meanwhile stays removed. @throws Error in one line. */
  async putUse(id: string, use: TokenUse): Promise<void> {
    const kv = this.#current();
    const entry = await kv.get(keyOf(id));
    if (entry?.operation !== 'PUT') return;
    const token = entry.json<SharedToken>();
    if (!(token.v <= PROTOCOL) || lastUseOf(token) >= use.at_ms) return;
    try {
      // Refused if it was removed since then, or if another node was faster, whose use is as good.
      await kv.update(keyOf(id), JSON.stringify({ ...token, use }), entry.revision);
    } catch (thrown) {
      if (!isWrongSequence(thrown)) throw thrown;
    }
  }

  /** Leaves a mark. @throws Error in one line. */
  async remove(id: string): Promise<void> {
    await this.#current().delete(keyOf(id));
    this.#present.delete(id);
  }

  close(): void {
    this.#watch.close();
  }

  #current(): KV {
    if (this.#fault !== null || !this.#kv) throw new Error(this.#fault ?? 'not open');
    return this.#kv;
  }

  async #open(): Promise<KV> {
    const { bucket, replicas } = this.#options;
    const options = { replicas, answerMs: ANSWER_MS };
    const { kv, created } = await openBucket(this.#nats, bucket, options);
    this.#isRemade = this.#created !== '' && this.#created !== created;
    if (this.#isRemade) this.#hasKeyCheck = false;
    this.#created = created;
    this.#kv = kv;
    return kv;
  }

  #told(key: string, value: Uint8Array | null): void {
    if (key === KEY_CHECK) {
      this.#checkKey(value);
      return;
    }
    if (isReserved(key)) return;
    const id = idOfKey(key);
    let token: SharedToken | null = null;
    try {
      token = value && readToken(id, JSON.parse(new TextDecoder().decode(value)));
    } catch (thrown) {
      const line = `the record of token ${id}: ${messageOf(thrown)}; it is not accepted here`;
      this.#options.say('error', line);
      return;
    }
    if (token) this.#present.set(id, lastUseOf(token));
    else this.#present.delete(id);
    if (this.#round) this.#round.set(id, token);
    else this.#options.changed(id, token);
  }

  #vanished(key: string): void {
    if (isReserved(key)) return;
    const id = idOfKey(key);
    this.#present.delete(id);
    if (this.#isRemade) return;
    if (this.#round) this.#round.set(id, null);
    else this.#options.changed(id, null);
  }

  #loaded(): void {
    const round = this.#round ?? new Map();
    this.#round = null;
    this.#isRemade = false;
    this.#fault = null;
    this.#options.loaded(round);
    if (!this.#hasKeyCheck) void this.#writeKeyCheck();
  }

  #interrupted(reason: string): void {
    const { bucket, say } = this.#options;
    if (this.#fault !== reason) say('warn', `the bucket ${bucket} cannot be followed: ${reason}`);
    this.#fault = reason;
    this.#round ??= new Map();
  }

  #checkKey(value: Uint8Array | null): void {
    this.#hasKeyCheck = value !== null;
    const { keyCheck, bucket, say } = this.#options;
    this.#keyFault = null;
    if (value === null || keyCheck === null) return;
    if (keyCheckIn(value) === keyCheck) return;
    this.#keyFault = `the key of cluster.secret_key_file is not the one of the cluster: give each node the same, or, if all have a new one, delete the key ${KEY_CHECK} of the bucket ${bucket}`;
    say('error', this.#keyFault);
  }

  /** The first node with a key says which it is. */
  async #writeKeyCheck(): Promise<void> {
    const { keyCheck } = this.#options;
    if (keyCheck === null) return;
    // When another was faster the watch tells which key it has.
    await this.#current()
      .create(KEY_CHECK, JSON.stringify({ v: PROTOCOL, check: keyCheck }))
      .catch(() => {});
  }
}

/** @throws Error that says why it cannot be read. */
export function readToken(id: string, value: unknown): SharedToken {
  const { v, node, record } = (value ?? {}) as Partial<SharedToken>;
  if (v !== undefined && v > READABLE) {
    throw new Error(`it has version ${v}, this node knows ${READABLE}: update this node`);
  }
  const isToken = record?.id === id && typeof record.digest === 'string';
  if (v === undefined || typeof node !== 'string' || !isToken || !Array.isArray(record.scopes)) {
    throw new Error('it is not of this token');
  }
  return value as SharedToken;
}

/** Undefined when there is none in it: then no key is the right one. */
function keyCheckIn(value: Uint8Array): unknown {
  try {
    return (JSON.parse(new TextDecoder().decode(value)) as { check?: unknown } | null)?.check;
  } catch {
    return undefined;
  }
}

function lastUseOf({ record, use }: SharedToken): number {
  return use?.at_ms ?? record.created_at_ms;
}
