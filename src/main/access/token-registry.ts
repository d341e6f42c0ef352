// Runs in main. Owns the valid tokens, their expiry, and the time of their last use. The fronts have copies, and get each
// change before the client gets its response.

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
/** The name of tokens created with the PIN. */
const PIN_TOKEN_NAME = 'pin';
/**
 * Most tokens at a time. One more is refused. The PIN still gets a token: it replaces the PIN token that was not used for
 * the longest time.
 */
const MAX_TOKENS = 10_000;
/** Wait before a token is removed from disk again after an error, in ms. */
const RETRY_MS = 5000;
/** How often the times of last use are written to disk, in ms. */
const SAVE_USES_MS = 60_000;
/** Longest wait for the next expiry, in ms: timers do not follow a clock that is set, or a machine that sleeps. */
const MAX_WAIT_MS = 2000;

/** The fronts. Each call resolves when all of them have applied it. */
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
   * Tokens that not every front has yet. They count, and a front that starts gets them, but they are not listed and
   * cannot be revoked: a front could add such a token after its removal.
   */
  readonly #pending = new Map<string, TokenRecord>();
  /** Tokens that are no longer valid but still on disk, with their name in lines and the reason. */
  readonly #removing = new Map<string, { name: string; why: string }>();
  #retry: NodeJS.Timeout | undefined;
  readonly #uses: Map<string, number>;
  /** Times of last use that are not on disk yet. */
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

  /** What a front starts with. */
  all(): TokenRecord[] {
    return [...this.#tokens.values(), ...this.#pending.values()];
  }

  /** To be called when the fronts listen. Tokens expire from then on. */
  start(): void {
    this.#awaitExpiry();
  }

  /** Every front accepts the token when this resolves. Only its digest is stored. */
  async createForPin(address: string): Promise<string> {
    if (this.#isFull()) await this.#removeIdlePinToken();
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
   * Creates a token. @param by id of the caller's token.
   * @throws DroverError `bad_request` for an invalid combination, `conflict` when the limit is reached.
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
   * When this resolves no front accepts the token, its streams are closed, and it is removed from disk. If the disk fails
   * it can be revoked again. @throws DroverError `not_found`.
   */
  async revoke(id: string, by: string): Promise<void> {
    if (this.#removing.has(id)) return this.#erase(id);
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
    await this.#retryRemovals();
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
    // Before the first wait, so that concurrent requests cannot exceed the limit.
    this.#pending.set(record.id, record);
    try {
      await this.#store.put(record);
      await this.#holders().addToken(record);
      this.#tokens.set(record.id, record);
    } finally {
      this.#pending.delete(record.id);
    }
    this.#events.tokenCreated(`${this.#nameOf(record.id)}, ${spec.scopes.join(', ')},`, by);
    this.#awaitExpiry();
    return { token, record };
  }

  #isFull(): boolean {
    return this.#tokens.size + this.#pending.size + this.#removing.size >= MAX_TOKENS;
  }

  async #remove(id: string, why: string): Promise<void> {
    const name = this.#nameOf(id);
    if (!this.#tokens.delete(id)) return;
    this.#uses.delete(id);
    this.#unsaved.delete(id);
    this.#removing.set(id, { name, why });
    await this.#erase(id);
  }

  /** Removes a token from the fronts and the disk; can be repeated. @throws Error when the disk fails; it is retried. */
  async #erase(id: string): Promise<void> {
    // The fronts first: a slow disk must not keep a stream open.
    await this.#holders().removeToken(id);
    try {
      await this.#store.remove(id);
    } catch (thrown) {
      this.#retry ??= setTimeout(() => void this.#retryRemovals(), RETRY_MS);
      throw thrown;
    }
    const removed = this.#removing.get(id);
    if (this.#removing.delete(id) && removed) this.#events.tokenRemoved(removed.name, removed.why);
  }

  async #retryRemovals(): Promise<void> {
    clearTimeout(this.#retry);
    this.#retry = undefined;
    // Each failure sets the timer for the next try.
    await Promise.allSettled([...this.#removing.keys()].map((id) => this.#erase(id)));
  }

  /** Removes expired tokens, and sets the timer for the next expiry. */
  #awaitExpiry(): void {
    clearTimeout(this.#expiry);
    const now = Date.now();
    let next = Number.POSITIVE_INFINITY;
    for (const { id, expires_at_ms } of this.#tokens.values()) {
      if (expires_at_ms === null) continue;
      // Errors of the disk are retried.
      if (expires_at_ms <= now) this.#remove(id, 'has expired').catch(() => {});
      else next = Math.min(next, expires_at_ms);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#expiry = setTimeout(() => this.#awaitExpiry(), Math.min(next - now, MAX_WAIT_MS));
  }

  async #removeIdlePinToken(): Promise<void> {
    const lastUse = ({ id, created_at_ms }: TokenRecord): number =>
      this.#uses.get(id) ?? created_at_ms;
    let idle: TokenRecord | undefined;
    for (const token of this.#tokens.values()) {
      if (!token.by_pin) continue;
      if (!idle || lastUse(token) < lastUse(idle)) idle = token;
    }
    if (idle) await this.#remove(idle.id, 'was replaced by a new one');
  }

  async #saveUses(): Promise<void> {
    const uses = new Map(this.#unsaved);
    this.#unsaved.clear();
    // A loss is harmless: the next use is written again.
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

  /** With the id, because names are chosen by users and need not be unique. */
  #nameOf(id: string): string {
    const name = this.#tokens.get(id)?.name;
    return name === undefined ? `token ${id}` : `token ${JSON.stringify(name)} (${id})`;
  }
}

/** @throws DroverError `bad_request`. */
function reachOf({ scopes, bots, labels }: CreateTokenBody): Reach {
  if (bots && labels) throw new DroverError('bad_request', 'give bots or labels, not both');
  if (!bots && !labels) return null;
  // It could create itself a token without the limit.
  if (scopes.includes('admin')) {
    throw new DroverError('bad_request', 'a token with the scope admin cannot be limited to bots');
  }
  return bots ? { bots } : { labels: labels ?? {} };
}
