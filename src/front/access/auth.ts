import type { ClientOrigin, Rights, TokenRecord, TokenUse } from '../../shared/contract/tokens.js';
import { copyOfText } from '../../shared/copy-of-text.js';
import { DroverError } from '../../shared/errors.js';
import { tokenDigest } from '../../shared/token-digest.js';
import type { Exchange } from '../engine/engine.js';
import { queryPairs, queryValue } from '../http/query-string.js';
import { clientName } from './user-agent.js';

/** Who is calling. */
export interface Caller {
  /** The token as it was sent; undefined when a ticket was. */
  token: string | undefined;
  record: TokenRecord;
}

const BEARER = /^bearer +(\S+) *$/i;
/** The usual spelling. */
const USUAL = 'Bearer ';

/** Runs in a front thread. Owns the valid tokens, and when and where each was last used. */
export class Authenticator {
  readonly #byDigest = new Map<string, TokenRecord>();
  readonly #byId = new Map<string, TokenRecord>();
  /** Caches callers by token, so that digests are computed once. A valid token has one spelling, which bounds the cache. */
  readonly #callers = new Map<string, Caller>();
  /** The tokens in {@link #callers}, by id. */
  readonly #known = new Map<string, string>();
  /** Since the last {@link takeUses}; at most one entry per token, with the place of the first use. */
  #uses = new Map<string, TokenUse>();

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

  /** The name of a valid token. */
  nameOf(id: string): string | undefined {
    return this.#byId.get(id)?.name;
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
    const use = this.#use(caller.record);
    // Found only for the first use since the last report: it costs more than the rest of this call.
    use.from ??= originOf(exchange);
    return caller;
  }

  /** The caller behind a redeemed ticket. @param id of its token. @throws DroverError `invalid_ticket`. */
  fromTicket(id: string | null, from: ClientOrigin): Caller {
    const record = id === null ? undefined : this.#byId.get(id);
    if (!record || isOver(record)) throw new DroverError('invalid_ticket');
    this.#use(record).from ??= from;
    return { token: undefined, record };
  }

  /** Call it after an await, during which the token may have ended. @throws DroverError `invalid_token`. */
  recheck({ record }: Caller): void {
    if (!this.#byId.has(record.id) || isOver(record)) throw new DroverError('invalid_token');
  }

  /** When and where tokens were used since the last call, by id. */
  takeUses(): Record<string, TokenUse> {
    const uses = Object.fromEntries(this.#uses);
    this.#uses = new Map();
    return uses;
  }

  #use(record: TokenRecord): TokenUse {
    if (isOver(record)) throw new DroverError('invalid_token');
    const known = this.#uses.get(record.id);
    if (known) {
      known.at_ms = Date.now();
      return known;
    }
    const use: TokenUse = { at_ms: Date.now(), from: null };
    this.#uses.set(record.id, use);
    return use;
  }

  #identify(exchange: Exchange): Caller {
    const header = exchange.header('authorization');
    if (header !== '') {
      const usual = header.startsWith(USUAL) && this.#callers.get(header.slice(USUAL.length));
      return usual || this.#lookUp(BEARER.exec(header)?.[1]);
    }
    const token = queryValue(queryPairs(exchange.query), 'token');
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
    // A copy, because a slice would keep the whole header in memory.
    const kept = copyOfText(token);
    const caller: Caller = { token: kept, record };
    this.#callers.set(kept, caller);
    this.#known.set(record.id, kept);
    return caller;
  }
}

/** Where a request comes from. To be called before the handler's first await. */
export function originOf(exchange: Pick<Exchange, 'address' | 'header'>): ClientOrigin {
  const client = clientName(exchange.header('user-agent')) ?? null;
  return { address: exchange.address, client };
}

/** The token has expired; main removes it from all fronts a moment later. */
function isOver({ expires_at_ms }: TokenRecord): boolean {
  return expires_at_ms !== null && expires_at_ms <= Date.now();
}

/** The rights that main needs to authorize the call; the digest stays here. */
export function rightsOf({ record: { scopes, reach } }: Caller): Rights {
  return { scopes, reach };
}
