// Runs in main. Owns this node's connection to the bucket of tokens: makes it, follows it, and writes to it.

import type { TokenRecord, TokenUse } from '../../shared/contract/tokens.js';
import { checkNamed, parseJson } from '../wire/bus-validators.js';
import { idOfKey, isReserved, keyOf, PROTOCOL } from '../wire/names.js';
import type { NatsConnection } from '../wire/nats.js';
import { isWrongSequence } from '../wire/reasons.js';
import type { Signer } from '../wire/signer.js';
import { Bucket, checkRecord, type Entry } from './bucket.js';
import { KvWatch } from './kv-watch.js';

/** How long NATS has to answer, in ms. */
const ANSWER_MS = 4000;
/** Key of what tells whether all nodes have the same secret key. */
const KEY_CHECK = '_secret_key';

interface KeyCheck {
  v: number;
  check: string;
  /** Nodes without a key are accepted. */
  unsigned?: boolean;
}

/** Value of a key: the token by its digest, as it is stored on its node. */
export interface SharedToken {
  v: number;
  /** The node that made it. */
  node: string;
  /** Its identity (node-identity.ts). Releases before do not say it. */
  node_id?: string;
  record: TokenRecord;
  /** The last use, half a day late at most; null before the first. */
  use: TokenUse | null;
}

export interface TokensBucketOptions {
  bucket: string;
  replicas: number;
  signer: Signer;
  /** Of this node's secret key; null without one. */
  keyCheck: string | null;
  /** Whether a check is that of one of this node's keys. */
  knowsKey: (check: string) => boolean;
  /** What the bucket has when it is current, and each change after that. Null: the token was removed. */
  loaded(tokens: ReadonlyMap<string, SharedToken | null>): void;
  changed(id: string, token: SharedToken | null): void;
  /** The bucket has what is none for a token, or nothing any more. */
  spoiled(id: string): void;
  say(level: 'info' | 'warn' | 'error', line: string): void;
}

export class TokensBucket {
  readonly #options: TokensBucketOptions;
  readonly #watch: KvWatch<SharedToken | KeyCheck>;
  readonly bucket: Bucket<SharedToken | KeyCheck>;
  #created = '';
  /** What has come since the watch began, until it has told everything. Bounded by the bucket. */
  #round: Map<string, SharedToken | null> | null = new Map();
  /** The tokens that it has, or had: only a removal that is signed removes one. Bounded by the number of tokens. */
  readonly #tokens = new Map<string, { token: SharedToken; isThere: boolean }>();
  /** The last one that was of a key of this node. */
  #keyCheck: KeyCheck | null = null;
  #isKeyCurrent = false;
  #fault: string | null = 'NATS was not reached yet';
  #keyFault: string | null = null;

  constructor(nats: NatsConnection, options: TokensBucketOptions) {
    this.#options = options;
    const { bucket: name, replicas, signer } = options;
    this.bucket = new Bucket<SharedToken | KeyCheck>(nats, {
      ...{ name, replicas, signer, answerMs: ANSWER_MS },
      knows: (key) => key === KEY_CHECK || !isReserved(key),
      read: readValue,
    });
    this.#watch = new KvWatch(nats, this.bucket, {
      entry: (key, entry) => this.#told(key, entry),
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
    return this.#tokens.get(id)?.isThere === true;
  }

  /** Tokens that it had: what it has now is none, or was signed with an earlier key. */
  missing(): SharedToken[] {
    return [...this.#tokens.values()].filter(({ isThere }) => !isThere).map(({ token }) => token);
  }

  /** @throws Error in one line. */
  async put(id: string, token: SharedToken): Promise<void> {
    await this.#current().set(keyOf(id), token);
    this.#tokens.set(id, { token, isThere: true });
  }

  /** Writes a token that is missing. @throws Error in one line. */
  async restore(token: SharedToken): Promise<void> {
    const { id } = token.record;
    const bucket = this.#current();
    const entry = await bucket.get(keyOf(id));
    const isMissing = !entry || entry.isCleared || (entry.value === null && entry.fault !== null);
    if (!isMissing) return;
    await bucket.put(keyOf(id), token, entry?.revision ?? 0);
    this.#tokens.set(id, { token, isThere: true });
  }

  /** How late the last use that it knows is, in ms; null when it does not have the token. */
  lagOf(id: string, { at_ms }: TokenUse): number | null {
    const known = this.#tokens.get(id);
    return known?.isThere ? at_ms - lastUseOf(known.token) : null;
  }

  /** Keeps a later use. A token that was removed meanwhile stays removed. @throws Error in one line. */
  async putUse(id: string, use: TokenUse): Promise<void> {
    const bucket = this.#current();
    const entry = await bucket.get(keyOf(id));
    const token = entry?.value as SharedToken | null | undefined;
    if (!entry || !token || token.v > PROTOCOL || lastUseOf(token) >= use.at_ms) return;
    try {
      // Refused if it was removed since then, or if another node was faster, whose use is as good.
      await bucket.put(keyOf(id), { ...token, use }, entry.revision);
    } catch (thrown) {
      if (!isWrongSequence(thrown)) throw thrown;
    }
  }

  /** Leaves a mark. @throws Error in one line. */
  async remove(id: string): Promise<void> {
    await this.#current().remove(keyOf(id));
    this.#tokens.delete(id);
  }

  close(): void {
    this.#watch.close();
  }

  #current(): Bucket<SharedToken | KeyCheck> {
    if (this.#fault !== null) throw new Error(this.#fault);
    return this.bucket;
  }

  #told(key: string, entry: Entry<SharedToken | KeyCheck>): void {
    this.#turn();
    if (key === KEY_CHECK) {
      this.#checkKey(entry);
      return;
    }
    const id = idOfKey(key);
    const { fault } = entry;
    if (fault) {
      this.#spoiled(id);
      if (fault.isNews)
        this.#options.say(
          'error',
          `the record of token ${id}: ${fault.reason}; it is not accepted here`,
        );
      return;
    }
    const token = entry.value as SharedToken | null;
    // One that is signed with an earlier key gets the present one from its node.
    if (token) this.#tokens.set(id, { token, isThere: entry.isCurrent });
    else this.#tokens.delete(id);
    if (this.#round) this.#round.set(id, token);
    else this.#options.changed(id, token);
  }

  /** The bucket may be another one by now. */
  #turn(): void {
    const { created } = this.bucket;
    if (created === this.#created) return;
    this.#keyCheck = null;
    this.#created = created;
  }

  #vanished(key: string): void {
    this.#turn();
    if (key === KEY_CHECK) {
      this.#isKeyCurrent = false;
      void this.#writeKeyCheck();
    } else if (!isReserved(key)) this.#spoiled(idOfKey(key));
  }

  #spoiled(id: string): void {
    const known = this.#tokens.get(id);
    if (known) known.isThere = false;
    this.#options.spoiled(id);
  }

  #loaded(): void {
    this.#turn();
    const round = this.#round ?? new Map();
    this.#round = null;
    this.#fault = null;
    this.#options.loaded(round);
    void this.#writeKeyCheck();
  }

  #interrupted(reason: string): void {
    const { bucket, say } = this.#options;
    if (this.#fault !== reason) say('warn', `the bucket ${bucket} cannot be followed: ${reason}`);
    this.#fault = reason;
    this.#round ??= new Map();
  }

  #checkKey({ value, isRemoved, isCurrent }: Entry<SharedToken | KeyCheck>): void {
    const { keyCheck, knowsKey, bucket, say } = this.#options;
    const found = value as KeyCheck | null;
    this.#isKeyCurrent = isCurrent;
    this.#keyFault = null;
    if (found === null && (isRemoved || keyCheck === null)) return;
    if (found === null && this.#keyCheck !== null) {
      // It was that of this node's key, and somebody has written something else.
      void this.#writeKeyCheck();
      return;
    }
    const isOwn = found !== null && (keyCheck === null ? found.unsigned : knowsKey(found.check));
    if (isOwn) this.#keyCheck = found;
    else {
      this.#keyFault =
        keyCheck === null
          ? 'the nodes of the cluster have a key, and this one has none: set cluster.secret_key_file'
          : `the key of cluster.secret_key_file is not the one of the cluster: give each node the same, or, if all have a new one, delete the key ${KEY_CHECK} of the bucket ${bucket}`;
      say('error', this.#keyFault);
    }
  }

  /** The first node with a key says which it is; the last one that starts, with what it is replaced. */
  async #writeKeyCheck(): Promise<void> {
    const { keyCheck, signer } = this.#options;
    if (keyCheck === null || this.#keyFault !== null) return;
    const check = { v: PROTOCOL, check: keyCheck, ...(!signer.isStrict && { unsigned: true }) };
    const { check: there, unsigned } = this.#keyCheck ?? {};
    if (this.#isKeyCurrent && there === keyCheck && unsigned === check.unsigned) return;
    // When another was faster the watch tells which key it has.
    const isNew = this.#keyCheck === null;
    await this.bucket[isNew ? 'create' : 'set'](KEY_CHECK, check).catch(() => {});
  }
}

function readValue(key: string, text: string): SharedToken | KeyCheck {
  const value = parseJson(text);
  if (key !== KEY_CHECK) return readToken(idOfKey(key), value);
  checkNamed('BusRecords', 'key', value);
  return value as KeyCheck;
}

/** @throws Error that says why it cannot be read. */
export function readToken(id: string, value: unknown): SharedToken {
  const token = checkRecord<SharedToken>('token', value);
  if (token.record.id !== id) throw new Error('it is not of this token');
  return token;
}

function lastUseOf({ record, use }: SharedToken): number {
  return use?.at_ms ?? record.created_at_ms;
}
