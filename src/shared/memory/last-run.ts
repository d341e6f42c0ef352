// One per bot host; owns the number of the run whose code runs there, or ran last.
//
// Contract: one writer (the host, when another bot's code begins to run), one reader (main, for a host that is stuck or gone:
// a thread that has run out of memory cannot answer).

export class LastRun {
  readonly #cell: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cell = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(4);
  }

  set(run: number): void {
    Atomics.store(this.#cell, 0, run);
  }

  /** 0 when it was the code of no bot. */
  get(): number {
    return Atomics.load(this.#cell, 0);
  }
}
