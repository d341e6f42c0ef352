// Runs in a front thread. Owns `POST /auth/pin` (interface-seed §4, §8).

import { createHash, timingSafeEqual } from 'node:crypto';
import { DroverError } from '../errors.js';
import type { PinBucket } from '../shm/pin-bucket.js';

export class PinExchange {
  readonly #pin: Buffer;
  readonly #bucket: PinBucket;

  constructor(pin: string, bucket: PinBucket) {
    this.#pin = digest(pin);
    this.#bucket = bucket;
  }

  /**
   * Returns when the PIN is right. A right PIN costs nothing, a wrong one costs a token, and while there is none every
   * PIN is refused.
   * @throws DroverError `wrong_pin` or `locked`.
   */
  check(pin: string): void {
    const lockedForS = this.#bucket.lockedForS();
    if (lockedForS > 0) throw locked(lockedForS);
    // Digests have one length whatever was sent, and comparing them takes one time.
    if (timingSafeEqual(digest(pin), this.#pin)) return;
    // Between the look and here other threads may have taken the last token.
    const waitS = this.#bucket.take();
    if (waitS > 0) throw locked(waitS);
    throw new DroverError('wrong_pin');
  }
}

function locked(seconds: number): DroverError {
  return new DroverError('locked', `locked, retry in ${seconds}s`, seconds);
}

function digest(pin: string): Buffer {
  return createHash('sha256').update(pin).digest();
}
