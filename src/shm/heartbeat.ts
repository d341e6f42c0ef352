// One per bot host; owns the count of the host's heartbeats.
//
// Contract: one adder (the host, from a timer of its loop), one reader (main's watchdog). A count that stands still
// means that the host's loop does.

export class Heartbeat {
  readonly #cell: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cell = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(4);
  }

  beat(): void {
    Atomics.add(this.#cell, 0, 1);
  }

  get count(): number {
    return Atomics.load(this.#cell, 0);
  }
}
