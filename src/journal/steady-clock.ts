// Runs in the journal thread. Owns the clock of retention: a system clock that is wrong for a while must not cost events.

/** A step forward of up to this much is accepted at once, a larger one after it has lasted as long, in ms. */
const STEP_MS = 3_600_000;

export class SteadyClock {
  /** The last time that was accepted, and the monotonic time of that. */
  #time: number;
  #at = performance.now();
  #jumpedAt: number | undefined;

  /** @param last when this clock was last read, perhaps by another run, in Unix epoch ms; 0 for never. */
  constructor(last: number) {
    this.#time = last === 0 ? Date.now() : last;
  }

  /** Unix epoch milliseconds. */
  now(): number {
    const system = Date.now();
    const at = performance.now();
    const expected = this.#time + at - this.#at;
    if (system > expected + STEP_MS) {
      this.#jumpedAt ??= at;
      if (at - this.#jumpedAt < STEP_MS) return Math.floor(expected);
    }
    this.#jumpedAt = undefined;
    this.#time = system;
    this.#at = at;
    return system;
  }
}
