// Used by every front; owns the one PIN bucket of the process, a cell in shared memory (docs/INTERFACE.md §8).
//
// Contract: any number of threads. The bucket is one number, the time at which it will be full again; taking a token
// moves it by one refill interval with a compare-and-exchange, so that no race between fronts gives one attempt too many.

/** Size of the bucket. */
export interface PinBucketSize {
  /** Wrong attempts that a full bucket allows. */
  capacity: number;
  /** Attempts that come back each minute. */
  refillPerMinute: number;
}

/** A bucket, as passed to a thread. */
export interface SharedPinBucket extends PinBucketSize {
  buffer: SharedArrayBuffer;
}

/** Nanoseconds on a monotonic clock that all threads share. */
export type Clock = () => bigint;

/** Creates a full bucket in new shared memory. */
export function createPinBucket(size: PinBucketSize): SharedPinBucket {
  return { ...size, buffer: new SharedArrayBuffer(8) };
}

export class PinBucket {
  readonly #fullAt: BigInt64Array;
  readonly #interval: bigint;
  readonly #burst: bigint;
  readonly #clock: Clock;

  constructor(shared: SharedPinBucket, clock: Clock = process.hrtime.bigint) {
    this.#fullAt = new BigInt64Array(shared.buffer);
    this.#interval = 60_000_000_000n / BigInt(shared.refillPerMinute);
    this.#burst = this.#interval * BigInt(shared.capacity - 1);
    this.#clock = clock;
  }

  /** Whole seconds, rounded up, until there is a token; 0 when there is one now. Takes nothing. */
  lockedForS(): number {
    return this.#wait(Atomics.load(this.#fullAt, 0), this.#clock());
  }

  /** Takes one token. @returns 0 when one was there, else the seconds as {@link lockedForS} gives them. */
  take(): number {
    for (;;) {
      const now = this.#clock();
      const fullAt = Atomics.load(this.#fullAt, 0);
      const wait = this.#wait(fullAt, now);
      if (wait > 0) return wait;
      const from = fullAt < now ? now : fullAt;
      const next = from + this.#interval;
      if (Atomics.compareExchange(this.#fullAt, 0, fullAt, next) === fullAt) return 0;
    }
  }

  /** Undoes one {@link take} that took a token. */
  giveBack(): void {
    // Never too much: a bucket that is full in the past is just full.
    Atomics.sub(this.#fullAt, 0, this.#interval);
  }

  #wait(fullAt: bigint, now: bigint): number {
    const remaining = fullAt - now - this.#burst;
    return remaining <= 0n ? 0 : Number((remaining + 999_999_999n) / 1_000_000_000n);
  }
}
