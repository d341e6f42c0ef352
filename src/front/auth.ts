import type { TokenRecord } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';
import { tokenDigest } from '../shared/token-digest.js';
import type { Exchange } from './engine/engine.js';
import { queryValues } from './query-string.js';

/** Who is calling. */
export interface Caller {
  /** The token as it was sent; undefined when a ticket was. */
  token: string | undefined;
  record: TokenRecord;
}

const BEARER = /^bearer +(\S+) *$/i;
/** The usual spelling. */
const USUAL = 'Bearer ';

/** Runs in a front thread. Owns the valid tokens, and when each was last used. */
export class Authenticator {
  readonly #byDigest = new Map<string, TokenRecord>();
  readonly #byId = new Map<string, TokenRecord>();
  /** Caches callers by token, so that digests are computed once. A valid token has one spelling, which bounds the cache. */
  readonly #callers = new Map<string, Caller>();
  /** The tokens in {@link #callers}, by id. */
  readonly #known = new Map<string, string>();
  /** Since the last {@link takeUses}; at most one entry per token. */
  #uses = new Map<string, number>();

  constructor(tokens: readonly TokenRecord[]) {
    for (const token of tokens) this.add(token);
  }

  add(token: TokenRecord): void {
    this.#byDigest.set(token.digest, token);
    this.#byId.set(token.id, token);
  }

  /** Whether there is any valid token. */
  get hasTokens(): boolean {
    return this.#byId.size > 0;
  }

  remove(id: string): void {
    const record = this.#byId.get(id);
    if (!record) return;
    this.#byId.delete(id);
    this.#byDigest.delete(record.digest);
    const token = this.#known.get(id);
    this.#known.delete(id);
    if (token !== undefined) this.#callers.delete(token);
  }

  /**
   * Identifies the caller. The header takes precedence over the query parameter.
   * @throws DroverError `missing_token` or `invalid_token`.
   */
  authenticate(exchange: Exchange): Caller {
    const caller = this.#identify(exchange);
    this.#use(caller.record);
    return caller;
  }

  /** The caller behind a redeemed ticket. @param id of its token. @throws DroverError `invalid_ticket`. */
  fromTicket(id: string | null): Caller {
    const record = id === null ? undefined : this.#byId.get(id);
    if (!record || isOver(record)) throw new DroverError('invalid_ticket');
    this.#use(record);
    return { token: undefined, record };
  }

  /** To be called after an await, during which the token may have ended. @throws DroverError `invalid_token`. */
  recheck({ record }: Caller): void {
    if (!this.#byId.has(record.id) || isOver(record)) throw new DroverError('invalid_token');
  }

  /** When tokens were used since the last call, in Unix epoch milliseconds, by id. */
  takeUses(): Record<string, number> {
    const uses = Object.fromEntries(this.#uses);
    this.#uses = new Map();
    return uses;
  }

  #use(record: TokenRecord): void {
    if (isOver(record)) throw new DroverError('invalid_token');
    this.#uses.set(record.id, Date.now());
  }

  #identify(exchange: Exchange): Caller {
    const header = exchange.header('authorization');
    if (header !== '') {
      const usual = header.startsWith(USUAL) && this.#callers.get(header.slice(USUAL.length));
      return usual || this.#lookUp(BEARER.exec(header)?.[1]);
    }
    const token = queryValues(exchange.query, 'token')[0];
    if (token === undefined || token === '') throw new DroverError('missing_token');
    // Base64 has no space: it was a `+` that was decoded as one.
    return this.#lookUp(token.replaceAll(' ', '+'));
  }

  #lookUp(token: string | undefined): Caller {
    if (token === undefined) throw new DroverError('invalid_token');
    const known = this.#callers.get(token);
    if (known) return known;
    const record = this.#byDigest.get(tokenDigest(token));
    if (!record) throw new DroverError('invalid_token');
    // A copy: a substring would keep the whole header in memory.
    const kept = Buffer.from(token).toString();
    const caller: Caller = { token: kept, record };
    this.#callers.set(kept, caller);
    this.#known.set(record.id, kept);
    return caller;
  }
}

/** It has expired; main removes it from all fronts a moment later. */
function isOver({ expires_at_ms }: TokenRecord): boolean {
  return expires_at_ms !== null && expires_at_ms <= Date.now();
}
