/** Full writes of about a hundred filters in one pass. */
const ARENA_BYTES = 4 * 1024 * 1024;

/**
 * Runs in a front thread. Owns the memory in which frames are gathered for filtered streams: one piece for all filters. When
 * it is full, it is overwritten from the beginning, and frames are gathered again: that costs time, never memory.
 */
export class GatherArena {
  readonly #bytes: number;
  /** Allocated on first use; the system commits only pages that are written. */
  #memory: Buffer | undefined;
  #at = 0;
  #round = 0;

  constructor(bytes = ARENA_BYTES) {
    this.#bytes = bytes;
  }

  /** Bytes of earlier rounds are invalid. */
  get round(): number {
    return this.#round;
  }

  /** Begins a round, which invalidates what was gathered before. */
  restart(): void {
    this.#at = 0;
    this.#round += 1;
  }

  /** Room for `bytes`, valid until the next round. Call {@link keep} with what is used. */
  room(bytes: number): Buffer {
    if (this.#at + bytes > this.#bytes) this.restart();
    this.#memory ??= Buffer.allocUnsafeSlow(this.#bytes);
    return this.#memory.subarray(this.#at, this.#at + bytes);
  }

  /** Reserves the first `bytes` of the last room until the round ends. */
  keep(bytes: number): void {
    this.#at += bytes;
  }
}
