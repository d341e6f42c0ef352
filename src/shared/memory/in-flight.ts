// One per bot host; owns the count of bytes that the host has posted and the broadcaster has not yet taken.
//
// Contract: one adder (the host), one subtracter (the broadcaster). A MessagePort has neither a
// bound nor backpressure; by this count the host bounds itself.

export class InFlight {
  readonly #cell: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cell = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(4);
  }

  get bytes(): number {
    return Atomics.load(this.#cell, 0);
  }

  add(bytes: number): void {
    Atomics.add(this.#cell, 0, bytes);
  }

  subtract(bytes: number): void {
    Atomics.sub(this.#cell, 0, bytes);
    Atomics.notify(this.#cell, 0);
  }

  /** Blocks the calling thread until the count is at most `bytes`, for at most `ms`. */
  waitBelow(bytes: number, ms: number): void {
    const deadline = performance.now() + ms;
    for (;;) {
      const now = this.bytes;
      const remaining = deadline - performance.now();
      if (now <= bytes || remaining <= 0) return;
      Atomics.wait(this.#cell, 0, now, remaining);
    }
  }
}
