// Runs in a front thread. Owns which tokens are accepted here, and when each was last used.

import type { TokenRecord } from '../contract/tokens.js';
import { DroverError } from '../errors.js';
import { tokenDigest } from '../store/token-digest.js';
import type { Exchange } from './engine/engine.js';
import { queryValues } from './query.js';

/** Who is calling. */
export interface Caller {
  /** The token as it was sent; undefined when a ticket was. */
  token: string | undefined;
  record: TokenRecord;
}

/** Tokens whose digest need not be computed again. Bounded; emptied when full. */
const MAX_CACHED = 10_000;
const BEARER = /^bearer +(\S+) *$/i;

export class Authenticator {
  readonly #byDigest = new Map<string, TokenRecord>();
  readonly #byId = new Map<string, TokenRecord>();
  readonly #callers = new Map<string, Caller>();
  /** Since the last {@link takeUses}; as many as there are tokens, at most. */
  #uses = new Map<string, number>();

  constructor(tokens: readonly TokenRecord[]) {
    for (const token of tokens) this.add(token);
  }

  add(token: TokenRecord): void {
    this.#byDigest.set(token.digest, token);
    this.#byId.set(token.id, token);
  }

  remove(id: string): void {
    const record = this.#byId.get(id);
    if (!record) return;
    this.#byId.delete(id);
    this.#byDigest.delete(record.digest);
    this.#callers.clear();
  }

  /**
   * Who sends this request. The header wins over the query parameter (architecture, decisions).
   * @throws DroverError `missing_token` or `invalid_token`.
   */
  authenticate(exchange: Exchange): Caller {
    const caller = this.#identify(exchange);
    this.#use(caller.record);
    return caller;
  }

  /** Who redeemed a ticket of this token. @throws DroverError `invalid_ticket`. */
  fromTicket(id: string | null): Caller {
    const record = id === null ? undefined : this.#byId.get(id);
    if (!record || isOver(record)) throw new DroverError('invalid_ticket');
    this.#use(record);
    return { token: undefined, record };
  }

  /** To be called after a wait, which the token may not have outlived. @throws DroverError `invalid_token`. */
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
      const known = this.#callers.get(`header ${header}`);
      if (known) return known;
      const token = BEARER.exec(header)?.[1];
      return this.#lookUp(token, `header ${header}`);
    }
    const token = queryValues(exchange.query, 'token')[0];
    if (token === undefined || token === '') throw new DroverError('missing_token');
    // Base64 has no space: one that arrives was a `+` that somebody on the way took for an encoded space.
    const repaired = token.replaceAll(' ', '+');
    return this.#callers.get(`query ${repaired}`) ?? this.#lookUp(repaired, `query ${repaired}`);
  }

  #lookUp(token: string | undefined, key: string): Caller {
    const record = token === undefined ? undefined : this.#byDigest.get(tokenDigest(token));
    if (token === undefined || !record) throw new DroverError('invalid_token');
    const caller: Caller = { token, record };
    if (this.#callers.size >= MAX_CACHED) this.#callers.clear();
    this.#callers.set(key, caller);
    return caller;
  }
}

/** Its time has come; main takes it away from all fronts a moment later. */
function isOver({ expires_at_ms }: TokenRecord): boolean {
  return expires_at_ms !== null && expires_at_ms <= Date.now();
}
