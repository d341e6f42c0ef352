import { createHash, timingSafeEqual } from 'node:crypto';
import { DroverError } from '../../shared/errors.js';
import type { PinBucket } from '../../shared/memory/pin-bucket.js';

const OFF =
  'the PIN is switched off (auth.pin): sign in with a token; drover tokens create --data-dir creates one on the machine of the service';

/** Called for each wrong PIN. `lockedForS`: for how many seconds the exchange is now locked, or 0. */
export type PinRefused = (refusal: { address: string; lockedForS: number }) => void;

/** Runs in a front thread. `POST /auth/pin` (docs/INTERFACE.md §4, §8). */
export class PinExchange {
  readonly #pin: Buffer | undefined;
  readonly #bucket: PinBucket;
  readonly #refused: PinRefused;
  readonly #isOff: () => boolean;

  /** @param pin null when it is off from the start on. @param isOff whether it is switched off now. */
  constructor(pin: string | null, bucket: PinBucket, refused: PinRefused, isOff = () => false) {
    this.#pin = pin === null ? undefined : digest(pin);
    this.#bucket = bucket;
    this.#refused = refused;
    this.#isOff = isOff;
  }

  /**
   * Returns if the PIN is right. A right PIN costs nothing, a wrong one costs a token, and while the bucket is empty every
   * PIN is refused. The token is taken before the comparison: otherwise several fronts could compare on the same last token.
   * @throws DroverError `wrong_pin`, `locked`, or `forbidden` when the PIN is switched off.
   */
  check(pin: string, address: string): void {
    if (this.#pin === undefined || this.#isOff()) throw new DroverError('forbidden', OFF);
    const waitS = this.#bucket.take();
    if (waitS > 0) throw locked(waitS);
    if (this.isRight(pin)) {
      this.#bucket.giveBack();
      return;
    }
    // Reports only attempts that cost a token, so the bucket bounds the reports.
    this.#refused({ address, lockedForS: this.#bucket.lockedForS() });
    throw new DroverError('wrong_pin');
  }

  /** Takes the same time for any PIN: digests have a fixed length and are compared in constant time. */
  isRight(pin: string): boolean {
    return this.#pin !== undefined && timingSafeEqual(digest(pin), this.#pin);
  }
}

function locked(seconds: number): DroverError {
  return new DroverError('locked', `locked, retry in ${seconds}s`, seconds);
}

function digest(pin: string): Buffer {
  return createHash('sha256').update(pin).digest();
}
