// Runs in a front thread. Owns the memory in which frames are gathered for streams with filters: one piece for all of
// them, however many different filters there are. What does not fit any more is overwritten from the beginning, and
// whoever wants it then gathers it anew: that costs time, never memory.

/** Room for what some hundred filters let through in one pass, whole writes of each. */
const ARENA_BYTES = 4 * 1024 * 1024;

export class GatherArena {
  readonly #bytes: number;
  /** Made when it is first needed; of what is never written to the system gives no memory. */
  #memory: Buffer | undefined;
  #at = 0;
  #round = 0;

  constructor(bytes = ARENA_BYTES) {
    this.#bytes = bytes;
  }

  /** What was gathered in another round is not there any more. */
  get round(): number {
    return this.#round;
  }

  /** Begins a round: nobody looks at what was gathered before. */
  restart(): void {
    this.#at = 0;
    this.#round += 1;
  }

  /** Room for at most `bytes`, until the next round begins; what is used of it is to be kept with {@link keep}. */
  room(bytes: number): Buffer {
    if (this.#at + bytes > this.#bytes) this.restart();
    this.#memory ??= Buffer.allocUnsafeSlow(this.#bytes);
    return this.#memory.subarray(this.#at, this.#at + bytes);
  }

  /** The first `bytes` of the last room stay until the round ends. */
  keep(bytes: number): void {
    this.#at += bytes;
  }
}
