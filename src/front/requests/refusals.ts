import type { TokenRecord } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';

/** Requests of one token that may be refused at once, and per second after that. */
const BURST = 1000;
const PER_SECOND = 100;

/**
 * Runs in a front thread. Bounds the refused requests of each token: a request is examined before it is refused, so refusals cost
 * the front time that others need. Above the bound it is not examined.
 */
export class Refusals {
  /** When the bucket of a token is full again, in ms; none is a full one. */
  readonly #fullAt = new WeakMap<TokenRecord, number>();
  readonly #now: () => number;

  /** @param now milliseconds on a monotonic clock. */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** @throws DroverError `too_many` when this token's requests were refused too often. */
  check(token: TokenRecord): void {
    const left = BURST - this.#used(token);
    if (left >= 1) return;
    throw new DroverError(
      'too_many',
      'too many requests of this token were refused',
      Math.ceil((1 - left) / PER_SECOND),
    );
  }

  /** A request was answered with this. Errors of bots and of the service are not refusals. */
  count(token: TokenRecord, thrown: unknown): void {
    if (!(thrown instanceof DroverError) || (thrown.status >= 500 && thrown.status !== 503)) return;
    const used = Math.min(BURST, this.#used(token) + 1);
    this.#fullAt.set(token, this.#now() + (used * 1000) / PER_SECOND);
  }

  #used(token: TokenRecord): number {
    const fullAt = this.#fullAt.get(token);
    return fullAt === undefined ? 0 : Math.max(0, ((fullAt - this.#now()) * PER_SECOND) / 1000);
  }
}
