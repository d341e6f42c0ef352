// Runs in a front thread. Owns which tokens are accepted here.

import type { TokenRecord } from '../contract/threads.js';
import { DroverError } from '../errors.js';
import { tokenDigest } from '../store/token-digest.js';
import type { Exchange } from './engine/engine.js';
import { queryValues } from './query.js';

/** Who is calling. */
export interface Caller {
  /** The token as it was sent. */
  token: string;
  record: TokenRecord;
}

/** Tokens whose digest need not be computed again. Bounded; emptied when full. */
const MAX_CACHED = 10_000;
const BEARER = /^bearer +(\S+) *$/i;

export class Authenticator {
  readonly #byDigest = new Map<string, TokenRecord>();
  readonly #callers = new Map<string, Caller>();

  constructor(tokens: readonly TokenRecord[]) {
    for (const token of tokens) this.add(token);
  }

  add(token: TokenRecord): void {
    this.#byDigest.set(token.digest, token);
  }

  /**
   * Who sends this request. The header wins over the query parameter (architecture, decisions).
   * @throws DroverError `missing_token` or `invalid_token`.
   */
  authenticate(exchange: Exchange): Caller {
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
