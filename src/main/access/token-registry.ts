// Runs in main. Owns the tokens that are good now: makes them, ends them when they are revoked or run out, and keeps
// when each was last used. The fronts have copies and are told of each change before the client is.

import { randomBytes, randomUUID } from 'node:crypto';
import type {
  CreateTokenBody,
  Reach,
  TokenInfo,
  TokenRecord,
} from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { tokenDigest } from '../../shared/token-digest.js';
import type { TokenStore } from '../store/token-store.js';
import type { SecurityEvents } from './security-events.js';

/** Bytes of a token (interface-seed §2.2). */
const TOKEN_BYTES = 48;
/** The name of tokens that were made with the PIN. */
const PIN_TOKEN_NAME = 'pin';
/**
 * Tokens that there may be. One more is refused; a PIN gets its token all the same, and of those that were made with the
 * PIN the one goes that was not used for longest.
 */
const MAX_TOKENS = 10_000;
/** How long after the disk refused to take a token away that is tried again, in ms. */
const RETRY_MS = 5000;
/** How often last uses are written to disk, in ms. */
const SAVE_USES_MS = 60_000;
/**
 * How long the look for tokens that have run out may wait, in ms. A timer knows nothing of a clock that was set, nor of
 * the time for which the machine slept.
 */
const MAX_WAIT_MS = 2000;

/** Tells all fronts; resolves when they act by it. */
export interface TokenHolders {
  addToken(token: TokenRecord): Promise<void>;
  removeToken(id: string): Promise<void>;
}

export class TokenRegistry {
  readonly #store: TokenStore;
  readonly #holders: () => TokenHolders;
  readonly #events: SecurityEvents;
  readonly #tokens: Map<string, TokenRecord>;
  /**
   * Tokens that are just made, until every front has them: they count, and a front that starts gets them, but nobody sees
   * or ends one. A front that had still to be told of it would accept it after its end.
   */
  readonly #making = new Map<string, TokenRecord>();
  /** Tokens that are over but still on disk, and would come back with the next start: how lines call them, and why. */
  readonly #ending = new Map<string, { name: string; why: string }>();
  #retry: NodeJS.Timeout | undefined;
  readonly #uses: Map<string, number>;
  /** Uses that are not on disk. */
  readonly #unsaved = new Map<string, number>();
  readonly #saver: NodeJS.Timeout;
  #expiry: NodeJS.Timeout | undefined;

  constructor(store: TokenStore, holders: () => TokenHolders, events: SecurityEvents) {
    this.#store = store;
    this.#holders = holders;
    this.#events = events;
    this.#tokens = new Map(store.all().map((token) => [token.id, token]));
    this.#uses = store.uses();
    this.#saver = setInterval(() => void this.#saveUses(), SAVE_USES_MS);
  }

  /** What a front begins with. */
  all(): TokenRecord[] {
    return [...this.#tokens.values(), ...this.#making.values()];
  }

  /** To be called once the fronts are there: from then on tokens end when their time comes. */
  start(): void {
    this.#awaitExpiry();
  }

  /** Every front accepts it when this resolves; the token itself is not kept anywhere. */
  async createForPin(address: string): Promise<string> {
    if (this.#isFull()) await this.#dropIdlePinToken();
    const spec = {
      name: PIN_TOKEN_NAME,
      by_pin: true,
      scopes: ['admin' as const],
      reach: null,
      expires_at_ms: null,
    };
    const { token } = await this.#create(spec, `with the PIN from ${address}`);
    return token;
  }

  /**
   * Makes a token. @param by id of the token that asks for it.
   * @throws DroverError `bad_request` when it would be of no use, `conflict` when there are too many.
   */
  async create(body: CreateTokenBody, by: string): Promise<{ token: string; info: TokenInfo }> {
    const { name, scopes, expires_at_ms = null } = body;
    const reach = reachOf(body);
    if (expires_at_ms !== null && expires_at_ms <= Date.now()) {
      throw new DroverError('bad_request', 'expires_at_ms is in the past');
    }
    if (this.#isFull()) {
      throw new DroverError('conflict', `there are ${MAX_TOKENS} tokens, revoke some`);
    }
    const spec = { name, by_pin: false, scopes, reach, expires_at_ms };
    const { token, record } = await this.#create(spec, `by ${this.#nameOf(by)}`);
    return { token, info: this.#info(record) };
  }

  /** Oldest first. */
  list(): TokenInfo[] {
    const inOrder = [...this.#tokens.values()].toSorted(
      (a, b) => a.created_at_ms - b.created_at_ms,
    );
    return inOrder.map((record) => this.#info(record));
  }

  /**
   * No front accepts it any more and its streams are closed when this resolves, and it is off the disk. One that the disk
   * has refused to take away can be revoked once more. @throws DroverError `not_found`.
   */
  async revoke(id: string, by: string): Promise<void> {
    if (this.#ending.has(id)) return this.#end(id);
    if (!this.#tokens.has(id)) throw new DroverError('not_found', `no token ${JSON.stringify(id)}`);
    await this.#remove(id, `was revoked by ${id === by ? 'its holder' : this.#nameOf(by)}`);
  }

  used(uses: Readonly<Record<string, number>>): void {
    for (const [id, at] of Object.entries(uses)) {
      if (!this.#tokens.has(id) || at <= (this.#uses.get(id) ?? 0)) continue;
      this.#uses.set(id, at);
      this.#unsaved.set(id, at);
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#saver);
    clearTimeout(this.#expiry);
    await this.#endRefused();
    clearTimeout(this.#retry);
    await this.#saveUses();
  }

  async #create(
    spec: Omit<TokenRecord, 'id' | 'digest' | 'created_at_ms'>,
    by: string,
  ): Promise<{ token: string; record: TokenRecord }> {
    const token = randomBytes(TOKEN_BYTES).toString('base64');
    const record: TokenRecord = {
      id: randomUUID(),
      digest: tokenDigest(token),
      created_at_ms: Date.now(),
      ...spec,
    };
    // At once, so that the bound holds for requests that come at once.
    this.#making.set(record.id, record);
    try {
      await this.#store.put(record);
      await this.#holders().addToken(record);
      this.#tokens.set(record.id, record);
    } finally {
      this.#making.delete(record.id);
    }
    this.#events.tokenMade(`${this.#nameOf(record.id)}, ${spec.scopes.join(', ')},`, by);
    this.#awaitExpiry();
    return { token, record };
  }

  #isFull(): boolean {
    return this.#tokens.size + this.#making.size + this.#ending.size >= MAX_TOKENS;
  }

  async #remove(id: string, why: string): Promise<void> {
    const name = this.#nameOf(id);
    if (!this.#tokens.delete(id)) return;
    this.#uses.delete(id);
    this.#unsaved.delete(id);
    this.#ending.set(id, { name, why });
    await this.#end(id);
  }

  /** Takes it from the fronts and the disk; may be repeated. @throws Error when the disk refuses, which is tried again. */
  async #end(id: string): Promise<void> {
    // The fronts first: what the disk needs must not keep a stream open.
    await this.#holders().removeToken(id);
    try {
      await this.#store.remove(id);
    } catch (thrown) {
      this.#retry ??= setTimeout(() => void this.#endRefused(), RETRY_MS);
      throw thrown;
    }
    const ended = this.#ending.get(id);
    if (this.#ending.delete(id) && ended) this.#events.tokenGone(ended.name, ended.why);
  }

  async #endRefused(): Promise<void> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    // Those that are refused again wait for the next time.
    await Promise.allSettled([...this.#ending.keys()].map((id) => this.#end(id)));
  }

  /** Sets the timer for the token that runs out next, and ends those that have. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry);
    const now = Date.now();
    let next = Number.POSITIVE_INFINITY;
    for (const { id, expires_at_ms } of this.#tokens.values()) {
      if (expires_at_ms === null) continue;
      // What the disk refuses is tried again.
      if (expires_at_ms <= now) this.#remove(id, 'has run out').catch(() => {});
      else next = Math.min(next, expires_at_ms);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#expiry = setTimeout(() => this.#awaitExpiry(), Math.min(next - now, MAX_WAIT_MS));
  }

  async #dropIdlePinToken(): Promise<void> {
    const lastUse = ({ id, created_at_ms }: TokenRecord): number =>
      this.#uses.get(id) ?? created_at_ms;
    let idle: TokenRecord | undefined;
    for (const token of this.#tokens.values()) {
      if (!token.by_pin) continue;
      if (!idle || lastUse(token) < lastUse(idle)) idle = token;
    }
    if (idle) await this.#remove(idle.id, 'made room for a new one');
  }

  async #saveUses(): Promise<void> {
    const uses = new Map(this.#unsaved);
    this.#unsaved.clear();
    // A loss costs nothing: the next use is written again.
    if (uses.size > 0) await this.#store.putUses(uses).catch(() => {});
  }

  #info({ id, name, scopes, reach, created_at_ms, expires_at_ms }: TokenRecord): TokenInfo {
    return {
      id,
      name,
      scopes,
      bots: reach && 'bots' in reach ? reach.bots : null,
      labels: reach && 'labels' in reach ? reach.labels : null,
      created_at_ms,
      expires_at_ms,
      last_used_at_ms: this.#uses.get(id) ?? null,
    };
  }

  /** For a line: the name was chosen by somebody, and names need not be unique. */
  #nameOf(id: string): string {
    const name = this.#tokens.get(id)?.name;
    return name === undefined ? `token ${id}` : `token ${JSON.stringify(name)} (${id})`;
  }
}

/** @throws DroverError `bad_request`. */
function reachOf({ scopes, bots, labels }: CreateTokenBody): Reach {
  if (bots && labels) throw new DroverError('bad_request', 'give bots or labels, not both');
  if (!bots && !labels) return null;
  // It could make itself a token without the limit.
  if (scopes.includes('admin')) {
    throw new DroverError('bad_request', 'a token with the scope admin cannot be limited to bots');
  }
  return bots ? { bots } : { labels: labels ?? {} };
}
