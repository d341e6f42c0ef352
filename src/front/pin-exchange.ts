// Runs in a front thread. Owns `POST /auth/pin` (interface-seed §4, §8).

import { createHash, timingSafeEqual } from 'node:crypto';
import { DroverError } from '../shared/errors.js';
import type { PinBucket } from '../shared/memory/pin-bucket.js';

/** Is told of each wrong PIN; `lockedForS` is 0, or for how many seconds the exchange is locked by it. */
export type PinRefused = (refusal: { address: string; lockedForS: number }) => void;

export class PinExchange {
  readonly #pin: Buffer;
  readonly #bucket: PinBucket;
  readonly #refused: PinRefused;

  constructor(pin: string, bucket: PinBucket, refused: PinRefused) {
    this.#pin = digest(pin);
    this.#bucket = bucket;
    this.#refused = refused;
  }

  /**
   * Returns when the PIN is right. A right PIN costs nothing, a wrong one costs a token, and while there is none every
   * PIN is refused. The token is taken before the PIN is looked at: fronts that see the same last token would each compare.
   * @throws DroverError `wrong_pin` or `locked`.
   */
  check(pin: string, address: string): void {
    const waitS = this.#bucket.take();
    if (waitS > 0) throw locked(waitS);
    if (this.isRight(pin)) {
      this.#bucket.giveBack();
      return;
    }
    // Only what cost a token is told: no flood of attempts is faster than the bucket.
    this.#refused({ address, lockedForS: this.#bucket.lockedForS() });
    throw new DroverError('wrong_pin');
  }

  /** Takes the same time for any PIN: digests have one length whatever was sent, and are compared as a whole. */
  isRight(pin: string): boolean {
    return timingSafeEqual(digest(pin), this.#pin);
  }
}

function locked(seconds: number): DroverError {
  return new DroverError('locked', `locked, retry in ${seconds}s`, seconds);
}

function digest(pin: string): Buffer {
  return createHash('sha256').update(pin).digest();
}
