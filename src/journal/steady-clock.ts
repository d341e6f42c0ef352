// Runs in the journal thread. Owns what time it is for what is forgotten by age: a clock that is wrong for a while must not
// cost the past.

/** A step forward of up to this much is believed at once, a larger one when it has lasted as long, in ms. */
const STEP_MS = 3_600_000;

export class SteadyClock {
  /** The last time that was believed, and when that was by a clock that nobody sets. */
  #time: number;
  #at = performance.now();
  #jumpedAt: number | undefined;

  /** @param last when this clock was read last, maybe by another run, in Unix epoch ms; 0 when it never was. */
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
