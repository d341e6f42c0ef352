// Runs in main. Owns codes that each work once and for a short time: tickets and sign-in links. Only their digests are kept.

import { randomBytes } from 'node:crypto';
import { DroverError } from '../../shared/errors.js';
import { tokenDigest } from '../../shared/token-digest.js';

const CODE_BYTES = 32;

export interface CodeBounds {
  /** How long a code is valid, in ms. */
  validMs: number;
  /**
   * Valid codes, in total and for one token. One more of a token is refused until an old one is used or expires. In total, one
   * more takes the place of the oldest of the token that has most, unless that is its own.
   */
  max: number;
  maxPerToken: number;
  /** What they are, in messages. */
  plural: string;
}

export interface KnownCode<T> {
  /** Id of the token that made it. */
  token: string;
  /** Unix epoch milliseconds. */
  expiresAt: number;
  content: T;
}

export class OneTimeCodes<T> {
  /** By digest, in the order in which they expire. */
  readonly #codes = new Map<string, KnownCode<T>>();
  readonly #perToken = new Map<string, number>();
  readonly #bounds: CodeBounds;
  readonly #now: () => number;

  /** @param now Unix epoch milliseconds. */
  constructor(bounds: CodeBounds, now: () => number = Date.now) {
    this.#bounds = bounds;
    this.#now = now;
  }

  /** @throws DroverError `too_many` or `unavailable` when a limit is reached and the token has its share. */
  create(token: string, content: T): { code: string; expiresAt: number } {
    const { validMs, max, maxPerToken, plural } = this.#bounds;
    this.#removeExpired();
    const held = this.#perToken.get(token) ?? 0;
    if (held >= maxPerToken) {
      throw new DroverError('too_many', `too many ${plural} of this token wait to be used`, 1);
    }
    if (this.#codes.size >= max) this.#makeRoom(held);
    const code = randomBytes(CODE_BYTES).toString('base64url');
    const expiresAt = this.#now() + validMs;
    this.#codes.set(tokenDigest(code), { token, expiresAt, content });
    this.#perToken.set(token, held + 1);
    return { code, expiresAt };
  }

  /** Undefined for an unknown, used or expired code. It stays valid. */
  find(code: string): KnownCode<T> | undefined {
    this.#removeExpired();
    return this.#codes.get(tokenDigest(code));
  }

  /** As {@link find}, but the code is used up. */
  take(code: string): KnownCode<T> | undefined {
    const found = this.find(code);
    if (found) this.#remove(tokenDigest(code), found);
    return found;
  }

  /** @param held by the token that needs room. */
  #makeRoom(held: number): void {
    let [most, count] = ['', 0];
    for (const [token, codes] of this.#perToken) {
      if (codes > count) [most, count] = [token, codes];
    }
    if (count <= held + 1) {
      const { plural } = this.#bounds;
      throw new DroverError('unavailable', `too many ${plural} wait to be used`, 1);
    }
    for (const [digest, known] of this.#codes) {
      if (known.token !== most) continue;
      this.#remove(digest, known);
      return;
    }
  }

  #removeExpired(): void {
    const now = this.#now();
    for (const [digest, known] of this.#codes) {
      if (known.expiresAt > now) break;
      this.#remove(digest, known);
    }
  }

  #remove(digest: string, { token }: KnownCode<T>): void {
    this.#codes.delete(digest);
    const held = (this.#perToken.get(token) ?? 0) - 1;
    if (held > 0) this.#perToken.set(token, held);
    else this.#perToken.delete(token);
  }
}
