import { NO_TOKEN_SHARING } from '../../cluster/cluster.js';
import type { TokenSharing } from '../../cluster/node-service.js';
// Runs in main. Owns the valid tokens, their expiry, and the time of their last use. The fronts have copies, and get each
// change before the client gets its response.

import { randomUUID } from 'node:crypto';
import type { Config } from '../../shared/contract/config.js';
import {
  type ClientOrigin,
  type CreatedBy,
  type CreateTokenBody,
  isSignIn,
  type TakenLink,
  type TokenFile,
  type TokenInfo,
  type TokenRecord,
  type TokenUse,
} from '../../shared/contract/tokens.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { newToken, tokenDigest } from '../../shared/token-digest.js';
import type { TokenStore } from '../store/token-store.js';
import { LastUses } from './last-uses.js';
import type { SecurityEvents } from './security-events.js';
import { type TokenSpec, tokenSpec } from './token-spec.js';

/** The name of tokens created with the PIN, by an unknown client. */
const PIN_TOKEN_NAME = 'pin';
const DAY_MS = 86_400_000;
/**
 * How much later than on its own node a sign-in of another node expires here, in ms: this node may not know its last uses. The nodes
 * share them at once, and keep them half a day late (src/cluster/control/token-sync.ts).
 */
const FOREIGN_IDLE_MS = DAY_MS;
/**
 * Most tokens at a time. One more is refused. The PIN still gets a token: it replaces the PIN token that was not used for
 * the longest time.
 */
const MAX_TOKENS = 10_000;
/** Wait before a token is removed from disk again after an error, in ms. Until it is removed, a restart would bring it back. */
const RETRY_MS = 1000;
/** Longest wait for the next expiry, in ms: timers do not follow a clock that is set, or a machine that sleeps. */
const MAX_WAIT_MS = 2000;

export interface CreatedToken {
  token: string;
  info: TokenInfo;
}

/** The fronts. Each call resolves when all of them have applied it. */
export interface TokenHolders {
  addToken(token: TokenRecord): Promise<void>;
  removeToken(id: string): Promise<void>;
}

export interface RegistryOptions extends Pick<Config['auth'], 'sign_in_days'> {
  /** Until {@link TokenRegistry.share}. No sign-in expires for not being used until it is current. */
  sharing?: TokenSharing;
}

export class TokenRegistry {
  readonly #store: TokenStore;
  readonly #holders: TokenHolders;
  readonly #events: SecurityEvents;
  readonly #tokens: Map<string, TokenRecord>;
  /**
   * Tokens that not every front has yet. They count, and a front that starts gets them, but they are not listed and
   * cannot be revoked: a front could add such a token after its removal.
   */
  readonly #pending = new Map<string, TokenRecord>();
  /** Ids of tokens that other nodes have made. They are not on this node's disk, and their nodes know whether they are idle. */
  readonly #foreign = new Set<string>();
  #sharing: TokenSharing;
  /** PIN tokens that a new one is about to replace. */
  readonly #replaced = new Set<string>();
  /** Tokens that are no longer valid but still on disk, with their name in lines and the reason. */
  readonly #removing = new Map<string, { name: string; why: string }>();
  #retry: NodeJS.Timeout | undefined;
  readonly #uses: LastUses;
  /** How long a sign-in stays valid without being used. */
  readonly #idleMs: number;
  /** Records that were changed at the start, and are not on disk yet. */
  #changed: TokenRecord[];
  #expiry: NodeJS.Timeout | undefined;

  constructor(
    store: TokenStore,
    holders: TokenHolders,
    events: SecurityEvents,
    { sign_in_days, sharing = NO_TOKEN_SHARING }: RegistryOptions,
  ) {
    this.#idleMs = sign_in_days === 0 ? Number.POSITIVE_INFINITY : sign_in_days * DAY_MS;
    this.#sharing = sharing;
    this.#store = store;
    this.#holders = holders;
    this.#events = events;
    this.#tokens = new Map(store.all().map((token) => [token.id, token]));
    this.#changed = this.#spareEarlier();
    this.#uses = new LastUses(store);
  }

  /** What a front starts with. */
  all(): TokenRecord[] {
    const now = Date.now();
    const all = [...this.#tokens.values(), ...this.#pending.values()];
    return all.filter((token) => this.#endOf(token) > now);
  }

  /** To be called when the first front listens. Tokens expire from then on. */
  start(): void {
    // One that the disk does not take now is spared once more at the next start.
    for (const record of this.#changed) this.#store.put(record).catch(() => {});
    this.#changed = [];
    this.#awaitExpiry();
  }

  /** Every front accepts the token when this resolves. Only its digest is stored. */
  async createForPin({
    address,
    client,
    name,
  }: ClientOrigin & { name?: string | undefined }): Promise<CreatedToken> {
    const replaced = this.#isFull() ? this.#idlePinToken() : undefined;
    const spec = {
      name: name ?? (client === null ? PIN_TOKEN_NAME : `${PIN_TOKEN_NAME} (${client})`),
      by_pin: true,
      scopes: ['admin' as const],
      reach: null,
      expires_at_ms: null,
      created_by: { how: 'pin' as const, token: null, name: null, address },
    };
    if (replaced) this.#replaced.add(replaced);
    try {
      const { token, record } = await this.#create(spec, `with the PIN from ${address}`, replaced);
      return { token, info: this.#info(record, record.id) };
    } finally {
      if (replaced) this.#replaced.delete(replaced);
    }
  }

  /**
   * Creates a token. In a cluster all live nodes accept it when this resolves. @param by id of the caller's token. @param address of the
   * caller.
   * @throws DroverError `bad_request` for an invalid combination, `conflict` when the limit is reached, `unavailable` when the cluster does
   *   not accept it: then it is not stored.
   */
  async create(
    body: CreateTokenBody,
    by: string,
    address: string | null = null,
  ): Promise<CreatedToken> {
    const spec = tokenSpec(body);
    await this.#sharing.admit();
    this.#expectRoom();
    const maker = { token: by, name: this.nameOf(by) ?? null, address };
    const created_by = { how: 'token' as const, ...maker };
    const { token, record } = await this.#create(
      { ...spec, created_by },
      `by ${this.#shownName(by)}`,
    );
    return { token, info: this.#info(record, by) };
  }

  /** Creates the token of a sign-in link. @throws as {@link create}. */
  async createForLink({ body, maker }: TakenLink, address: string): Promise<CreatedToken> {
    const spec = tokenSpec(body);
    this.#expectRoom();
    const { id, name } = maker;
    const created_by = { how: 'link' as const, token: id, name, address };
    const { token, record } = await this.#create(
      { ...spec, created_by },
      `with a sign-in link of token ${JSON.stringify(name)} (${id}), from ${address}`,
    );
    return { token, info: this.#info(record, record.id) };
  }

  /** Accepts a token that was created on this machine, once. @throws as {@link create}. */
  async adopt({ id, digest, ...body }: TokenFile): Promise<void> {
    if (this.#tokens.has(id)) return;
    this.#expectRoom();
    const created_by = { how: 'data_dir' as const, token: null, name: null, address: null };
    const record = { id, digest, created_at_ms: Date.now(), created_by, ...tokenSpec(body) };
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
    await this.#remove(id, `was revoked by ${id === by ? 'its holder' : this.#shownName(by)}`);
  }

  used(uses: Readonly<Record<string, TokenUse>>): void {
    for (const [id, use] of Object.entries(uses)) {
      if (this.#use(id, use)) this.#sharing.used(id, use);
    }
  }

  /** The same, as another node has seen it. */
  usedElsewhere(uses: Readonly<Record<string, TokenUse>>): void {
    for (const [id, use] of Object.entries(uses)) this.#use(id, use);
  }

  /** Null before the first. */
  lastUse(id: string): TokenUse | null {
    return this.#uses.get(id) ?? null;
  }

  /** Undefined for a token that is not valid. */
  nameOf(id: string): string | undefined {
    return this.#tokens.get(id)?.name;
  }

  /** The tokens are those of a cluster from now on. */
  share(sharing: TokenSharing): void {
    this.#sharing = sharing;
  }

  has(id: string): boolean {
    return this.#tokens.has(id) || this.#pending.has(id);
  }

  /** A token that this node has made. */
  ownRecord(id: string): TokenRecord | undefined {
    return this.#foreign.has(id) ? undefined : this.#tokens.get(id);
  }

  /** The tokens that this node has made. */
  own(): TokenRecord[] {
    return [...this.#tokens.values()].filter(({ id }) => !this.#foreign.has(id));
  }

  /**
   * Accepts a token that another node has made; every front does when this resolves. It is not stored.
   * @param use the last one that the cluster has kept.
   */
  async learn(record: TokenRecord, use: TokenUse | null): Promise<void> {
    const { id } = record;
    if (this.#removing.has(id)) return;
    if (!this.has(id)) await this.#learn(record, use);
    if (use) this.#use(id, use);
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
    clearTimeout(this.#expiry);
    await this.#retryRemovals();
    clearTimeout(this.#retry);
    await this.#uses.stop();
  }

  /** Sign-ins from before sign-ins expired count as used now. @returns those that were changed. */
  #spareEarlier(): TokenRecord[] {
    if (this.#idleMs === Number.POSITIVE_INFINITY) return [];
    const idle_from_ms = Date.now();
    const earlier = [...this.#tokens.values()].filter(
      (token) => isSignIn(token) && token.created_by === null && token.idle_from_ms === undefined,
    );
    const changed = earlier.map((token) => ({ ...token, idle_from_ms }));
    for (const token of changed) this.#tokens.set(token.id, token);
    return changed;
  }

  async #learn(record: TokenRecord, use: TokenUse | null): Promise<void> {
    const { id } = record;
    // It was not removed by its node yet, which may be gone.
    if (this.#endOf(record, true, use) <= Date.now()) return;
    this.#pending.set(id, record);
    try {
      await this.#holders.addToken(record);
      this.#tokens.set(id, record);
      this.#foreign.add(id);
    } finally {
      this.#pending.delete(id);
    }
  }

  /** @returns whether it is news. */
  #use(id: string, use: TokenUse): boolean {
    return this.#tokens.has(id) && this.#uses.note(id, use, !this.#foreign.has(id));
  }

  /** @param replaces id of a token that is removed by the same commit: without room for the new one it stays. */
  async #create(
    spec: TokenSpec & { created_by: CreatedBy },
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
      await this.#holders.addToken(record);
      this.#tokens.set(record.id, record);
    } finally {
      this.#pending.delete(record.id);
    }
    // Already removed from the disk. What fails after all is retried.
    if (replaces) await this.#remove(replaces, 'was replaced by a new one').catch(() => {});
    this.#events.tokenCreated(`${this.#shownName(record.id)}, ${record.scopes.join(', ')},`, by);
    this.#awaitExpiry();
    try {
      await this.#sharing.added(record);
    } catch (thrown) {
      // Who signs in on a node that is cut off has to see why: the token is good here, and elsewhere when NATS is back.
      if (record.created_by?.how !== 'token') return;
      await this.#remove(record.id, 'was not accepted by the cluster').catch(() => {});
      throw thrown;
    }
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
    const name = this.#shownName(id);
    if (!this.#tokens.delete(id)) return;
    this.#foreign.delete(id);
    if (isTold) this.#sharing.removed(id);
    this.#uses.forget(id);
    this.#removing.set(id, { name, why });
    await this.#erase(id);
  }

  /** Removes a token from the fronts and the disk; can be repeated. @throws Error when the disk fails; it is retried. */
  async #erase(id: string): Promise<void> {
    // The fronts first: a slow disk must not keep a stream open.
    await this.#holders.removeToken(id);
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
    // What this node does not know yet, it asks again.
    let next = this.#sharing.isCurrent ? Number.POSITIVE_INFINITY : now + MAX_WAIT_MS;
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
  #endOf(
    token: TokenRecord,
    isForeign = this.#foreign.has(token.id),
    use = this.lastUse(token.id),
  ): number {
    const end = token.expires_at_ms ?? Number.POSITIVE_INFINITY;
    if (!isSignIn(token) || !this.#sharing.isCurrent) return end;
    return Math.min(end, this.#idleEndOf(token, use) + (isForeign ? FOREIGN_IDLE_MS : 0));
  }

  /** When it expires if it is not used again, infinite for never. */
  #idleEndOf(token: TokenRecord, use = this.lastUse(token.id)): number {
    if (!isSignIn(token)) return Number.POSITIVE_INFINITY;
    const { created_at_ms, idle_from_ms = 0 } = token;
    return Math.max(use?.at_ms ?? created_at_ms, idle_from_ms) + this.#idleMs;
  }

  #idlePinToken(): string | undefined {
    let idle: TokenRecord | undefined;
    for (const token of this.#tokens.values()) {
      if (!token.by_pin || this.#replaced.has(token.id) || this.#foreign.has(token.id)) continue;
      if (!idle || this.#idleEndOf(token) < this.#idleEndOf(idle)) idle = token;
    }
    return idle?.id;
  }

  /** @param by id of the caller's token. */
  #info(record: TokenRecord, by: string): TokenInfo {
    const { id, name, scopes, reach, created_at_ms, created_by, by_pin } = record;
    const idleEnd = this.#idleEndOf(record);
    const end = Math.min(record.expires_at_ms ?? Number.POSITIVE_INFINITY, idleEnd);
    const use = this.lastUse(id);
    return {
      id,
      name,
      scopes,
      bots: reach && 'bots' in reach ? reach.bots : null,
      labels: reach && 'labels' in reach ? reach.labels : null,
      created_at_ms,
      created_by,
      expires_at_ms: end === Number.POSITIVE_INFINITY ? null : end,
      extended_by_use: idleEnd !== Number.POSITIVE_INFINITY,
      last_used_at_ms: use?.at_ms ?? null,
      last_used_from: use?.from ?? null,
      by_pin,
      current: id === by,
    };
  }

  /** With the id, because names are chosen by users and need not be unique. */
  #shownName(id: string): string {
    const name = this.nameOf(id);
    return name === undefined ? `token ${id}` : `token ${JSON.stringify(name)} (${id})`;
  }
}
