// Runs in main. Owns the valid tokens, their expiry, and the time of their last use. The fronts have copies, and get each
// change before the client gets its response.

import { randomUUID } from 'node:crypto';
import type { Config } from '../../shared/contract/config.js';
import type {
  CreateTokenBody,
  TokenFile,
  TokenInfo,
  TokenRecord,
} from '../../shared/contract/tokens.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { newToken, tokenDigest } from '../../shared/token-digest.js';
import type { TokenStore } from '../store/token-store.js';
import type { SecurityEvents } from './security-events.js';
import { type TokenSpec, tokenSpec } from './token-spec.js';

/** The name of tokens created with the PIN, by an unknown client. */
const PIN_TOKEN_NAME = 'pin';
const DAY_MS = 86_400_000;
/**
 * Most tokens at a time. One more is refused. The PIN still gets a token: it replaces the PIN token that was not used for
 * the longest time.
 */
const MAX_TOKENS = 10_000;
/** Wait before a token is removed from disk again after an error, in ms. Until it is removed, a restart would bring it back. */
const RETRY_MS = 1000;
/** How often the times of last use are written to disk, in ms. */
const SAVE_USES_MS = 60_000;
/** Longest wait for the next expiry, in ms: timers do not follow a clock that is set, or a machine that sleeps. */
const MAX_WAIT_MS = 2000;

/** The fronts. Each call resolves when all of them have applied it. */
export interface TokenHolders {
  addToken(token: TokenRecord): Promise<void>;
  removeToken(id: string): Promise<void>;
}

/** What the other nodes of a cluster are told (src/main/cluster/token-sync.ts). */
export interface TokenSharing {
  /** Every front of this node accepts it. */
  added(record: TokenRecord): void;
  /** This node has removed it. */
  removed(id: string): void;
  /** Times of last use that this node did not know. */
  used(id: string, atMs: number): void;
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
  /** Ids of tokens that other nodes have made. They are not on this node's disk, and their nodes know whether they are idle. */
  readonly #foreign = new Set<string>();
  #sharing: TokenSharing | undefined;
  /** PIN tokens that a new one is about to replace. */
  readonly #replaced = new Set<string>();
  /** Tokens that are no longer valid but still on disk, with their name in lines and the reason. */
  readonly #removing = new Map<string, { name: string; why: string }>();
  #retry: NodeJS.Timeout | undefined;
  readonly #uses: Map<string, number>;
  /** Times of last use that are not on disk yet. */
  readonly #unsaved = new Map<string, number>();
  readonly #saver: NodeJS.Timeout;
  /** How long a token from the PIN stays valid without being used. */
  readonly #pinIdleMs: number;
  #expiry: NodeJS.Timeout | undefined;

  constructor(
    store: TokenStore,
    holders: () => TokenHolders,
    events: SecurityEvents,
    { pin_idle_days }: Pick<Config['auth'], 'pin_idle_days'>,
  ) {
    this.#pinIdleMs = pin_idle_days === null ? Number.POSITIVE_INFINITY : pin_idle_days * DAY_MS;
    this.#store = store;
    this.#holders = holders;
    this.#events = events;
    this.#tokens = new Map(store.all().map((token) => [token.id, token]));
    this.#uses = store.uses();
    this.#saver = setInterval(() => void this.#saveUses(), SAVE_USES_MS);
  }

  /** What a front starts with. */
  all(): TokenRecord[] {
    const now = Date.now();
    const all = [...this.#tokens.values(), ...this.#pending.values()];
    return all.filter((token) => this.#endOf(token) > now);
  }

  /** To be called when the first front listens. Tokens expire from then on. */
  start(): void {
    this.#awaitExpiry();
  }

  /** Every front accepts the token when this resolves. Only its digest is stored. */
  async createForPin(address: string, client: string | null): Promise<string> {
    const replaced = this.#isFull() ? this.#idlePinToken() : undefined;
    const spec = {
      name: client === null ? PIN_TOKEN_NAME : `${PIN_TOKEN_NAME} (${client})`,
      by_pin: true,
      scopes: ['admin' as const],
      reach: null,
      expires_at_ms: null,
    };
    if (replaced) this.#replaced.add(replaced);
    try {
      const { token } = await this.#create(spec, `with the PIN from ${address}`, replaced);
      return token;
    } finally {
      if (replaced) this.#replaced.delete(replaced);
    }
  }

  /**
   * Creates a token. @param by id of the caller's token.
   * @throws DroverError `bad_request` for an invalid combination, `conflict` when the limit is reached.
   */
  async create(body: CreateTokenBody, by: string): Promise<{ token: string; info: TokenInfo }> {
    const spec = tokenSpec(body);
    this.#expectRoom();
    const { token, record } = await this.#create(spec, `by ${this.#nameOf(by)}`);
    return { token, info: this.#info(record, by) };
  }

  /** Accepts a token that was created on this machine, once. @throws as {@link create}. */
  async adopt({ id, digest, ...body }: TokenFile): Promise<void> {
    if (this.#tokens.has(id)) return;
    this.#expectRoom();
    const record = { id, digest, created_at_ms: Date.now(), ...tokenSpec(body) };
    await this.#add(record, 'on this machine, in the data directory');
  }

  /** Oldest first. @param by id of the caller's token. */
  list(by: string): TokenInfo[] {
    const inOrder = [...this.#tokens.values()].toSorted(
      (a, b) => a.created_at_ms - b.created_at_ms,
    );
    return inOrder.map((record) => this.#info(record, by));
  }

  /** The caller's own token. @throws DroverError `invalid_token` when it has just ended. */
  current(id: string): TokenInfo {
    const record = this.#tokens.get(id);
    if (!record) throw new DroverError('invalid_token');
    return this.#info(record, id);
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
      if (this.#use(id, at)) this.#sharing?.used(id, at);
    }
  }

  /** The same, as another node has seen it. */
  usedElsewhere(uses: Readonly<Record<string, number>>): void {
    for (const [id, at] of Object.entries(uses)) this.#use(id, at);
  }

  /** The tokens are those of a cluster from now on. */
  share(sharing: TokenSharing): void {
    this.#sharing = sharing;
  }

  has(id: string): boolean {
    return this.#tokens.has(id) || this.#pending.has(id);
  }

  /** The tokens that this node has made. */
  own(): TokenRecord[] {
    return [...this.#tokens.values()].filter(({ id }) => !this.#foreign.has(id));
  }

  /** Accepts a token that another node has made; every front does when this resolves. It is not stored. */
  async learn(record: TokenRecord): Promise<void> {
    const { id } = record;
    if (this.has(id) || this.#removing.has(id)) return;
    this.#pending.set(id, record);
    try {
      await this.#holders().addToken(record);
      this.#tokens.set(id, record);
      this.#foreign.add(id);
    } finally {
      this.#pending.delete(id);
    }
    this.#awaitExpiry();
  }

  /**
   * Another node has removed the token: no front accepts it when this resolves. Not to be called while {@link learn} runs for it.
   * @throws DroverError `not_stored` when only the disk has it still; that is retried.
   */
  async forget(id: string): Promise<void> {
    if (this.#removing.has(id)) await this.#erase(id);
    else await this.#remove(id, 'was removed on another node', false);
  }

  async stop(): Promise<void> {
    clearInterval(this.#saver);
    clearTimeout(this.#expiry);
    await this.#retryRemovals();
    clearTimeout(this.#retry);
    await this.#saveUses();
  }

  /** @returns whether it is news. */
  #use(id: string, at: number): boolean {
    if (!this.#tokens.has(id) || at <= (this.#uses.get(id) ?? 0)) return false;
    this.#uses.set(id, at);
    if (!this.#foreign.has(id)) this.#unsaved.set(id, at);
    return true;
  }

  /** @param replaces id of a token that is removed by the same commit: without room for the new one it stays. */
  async #create(
    spec: TokenSpec,
    by: string,
    replaces?: string,
  ): Promise<{ token: string; record: TokenRecord }> {
    const token = newToken();
    const record: TokenRecord = {
      id: randomUUID(),
      digest: tokenDigest(token),
      created_at_ms: Date.now(),
      ...spec,
    };
    await this.#add(record, by, replaces);
    return { token, record };
  }

  async #add(record: TokenRecord, by: string, replaces?: string): Promise<void> {
    // Before the first wait, so that concurrent requests cannot exceed the limit.
    this.#pending.set(record.id, record);
    try {
      await this.#store.put(record, replaces);
      await this.#holders().addToken(record);
      this.#tokens.set(record.id, record);
    } finally {
      this.#pending.delete(record.id);
    }
    // Already removed from the disk. What fails after all is retried.
    if (replaces) await this.#remove(replaces, 'was replaced by a new one').catch(() => {});
    this.#sharing?.added(record);
    this.#events.tokenCreated(`${this.#nameOf(record.id)}, ${record.scopes.join(', ')},`, by);
    this.#awaitExpiry();
  }

  /** @throws DroverError `conflict`. */
  #expectRoom(): void {
    if (this.#isFull()) {
      throw new DroverError('conflict', `there are ${MAX_TOKENS} tokens, revoke some`);
    }
  }

  #isFull(): boolean {
    return this.#tokens.size + this.#pending.size + this.#removing.size >= MAX_TOKENS;
  }

  /** @param isTold whether the other nodes are told. */
  async #remove(id: string, why: string, isTold = true): Promise<void> {
    const name = this.#nameOf(id);
    if (!this.#tokens.delete(id)) return;
    this.#foreign.delete(id);
    if (isTold) this.#sharing?.removed(id);
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
      throw new DroverError(
        'not_stored',
        `the token is no longer valid, but it is not removed from the disk yet: ${messageOf(thrown)}`,
      );
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
    for (const token of this.#tokens.values()) {
      const end = this.#endOf(token);
      // Errors of the disk are retried.
      // One that another node has made expires there as well.
      if (end <= now)
        this.#remove(token.id, 'has expired', !this.#foreign.has(token.id)).catch(() => {});
      else next = Math.min(next, end);
    }
    if (next === Number.POSITIVE_INFINITY) return;
    this.#expiry = setTimeout(() => this.#awaitExpiry(), Math.min(next - now, MAX_WAIT_MS));
  }

  /** When it expires, infinite for never. */
  #endOf(token: TokenRecord): number {
    const end = token.expires_at_ms ?? Number.POSITIVE_INFINITY;
    return token.by_pin && !this.#foreign.has(token.id)
      ? Math.min(end, this.#lastUse(token) + this.#pinIdleMs)
      : end;
  }

  #lastUse({ id, created_at_ms }: TokenRecord): number {
    return this.#uses.get(id) ?? created_at_ms;
  }

  #idlePinToken(): string | undefined {
    let idle: TokenRecord | undefined;
    for (const token of this.#tokens.values()) {
      if (!token.by_pin || this.#replaced.has(token.id) || this.#foreign.has(token.id)) continue;
      if (!idle || this.#lastUse(token) < this.#lastUse(idle)) idle = token;
    }
    return idle?.id;
  }

  async #saveUses(): Promise<void> {
    const uses = new Map(this.#unsaved);
    this.#unsaved.clear();
    if (uses.size === 0) return;
    try {
      await this.#store.putUses(uses);
    } catch {
      // Later ones are newer.
      for (const [id, at] of uses) {
        if (this.#tokens.has(id) && !this.#unsaved.has(id)) this.#unsaved.set(id, at);
      }
    }
  }

  /** @param by id of the caller's token. */
  #info(record: TokenRecord, by: string): TokenInfo {
    const { id, name, scopes, reach, created_at_ms, by_pin } = record;
    const end = this.#endOf(record);
    return {
      id,
      name,
      scopes,
      bots: reach && 'bots' in reach ? reach.bots : null,
      labels: reach && 'labels' in reach ? reach.labels : null,
      created_at_ms,
      expires_at_ms: end === Number.POSITIVE_INFINITY ? null : end,
      last_used_at_ms: this.#uses.get(id) ?? null,
      by_pin,
      current: id === by,
    };
  }

  /** With the id, because names are chosen by users and need not be unique. */
  #nameOf(id: string): string {
    const name = this.#tokens.get(id)?.name;
    return name === undefined ? `token ${id}` : `token ${JSON.stringify(name)} (${id})`;
  }
}
