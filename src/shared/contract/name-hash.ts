// Hashes a session id or scope to 64 bits (one of them fixed) for the ring's index.
// It is cheap: any client with a token can ask for a thousand names in one request.
//
// A keyed hash instead of a table of names: nothing to share, nothing that grows with bots that come and go, and a
// frame never waits for a name to become known. The key is random per process, so nobody can choose names that collide;
// among 10,000 names two collide with a probability of about 5 in 10^12.

import { createHash } from 'node:crypto';
import { copyOfText } from '../copy-of-text.js';
import { type SipKey, sipHash } from './sip-hash.js';

/** A name in the index. Never 0 and 0, which stands for "none". */
export interface NameHash {
  low: number;
  high: number;
  /** The name as JSON, made once. */
  json: string;
}

/** Names in the cache. When it is full the oldest half is dropped. */
const MAX_CACHED = 65_536;
/** Longest name that is cached. Bots have shorter ones; a longer one comes from a query, and may be very long. */
const MAX_CACHED_LENGTH = 128;

export class NameHasher {
  readonly #key: SipKey;
  readonly #cache = new Map<string, NameHash>();
  #lastName: string | undefined;
  #last: NameHash = { low: 0, high: 0, json: 'null' };

  constructor(key: string) {
    const digest = createHash('sha256').update(key).digest();
    const word = (at: number): number => digest.readInt32LE(4 * at);
    this.#key = [word(0), word(1), word(2), word(3)];
  }

  of(name: string): NameHash {
    // A bot's lines come in runs, and comparing short strings is faster than hashing one that has just been decoded.
    if (name === this.#lastName) return this.#last;
    this.#lastName = name;
    this.#last = this.#cache.get(name) ?? this.#compute(name);
    return this.#last;
  }

  /** Hashes a name without caching it: names that clients ask for must not displace those of bots. */
  once(name: string): Pick<NameHash, 'low' | 'high'> {
    const [low, high] = sipHash(this.#key, name);
    return { low: (low | 1) >>> 0, high };
  }

  #compute(name: string): NameHash {
    const hash: NameHash = { ...this.once(name), json: JSON.stringify(name) };
    if (name.length > MAX_CACHED_LENGTH) return hash;
    if (this.#cache.size >= MAX_CACHED) {
      let surplus = MAX_CACHED / 2;
      for (const oldest of this.#cache.keys()) {
        if (surplus-- === 0) break;
        this.#cache.delete(oldest);
      }
    }
    // A copy, because a slice would keep the whole query in memory.
    this.#cache.set(copyOfText(name), hash);
    return hash;
  }
}
