// One per bot host; owns the number of the run whose code runs there, or ran last, and how often that has changed.
//
// Contract: one writer (the host, when another bot's code begins to run), one reader (main, for a host that is stuck or gone:
// a thread that has run out of memory cannot answer; and for one whose loop a bot holds). The count is written first: a reader
// that finds the same count twice has found the same run.

const RUN = 0;
const CHANGES = 1;
const CELLS = 2;

export class LastRun {
  readonly #cells: Int32Array;
  /** Wraps around. */
  #changes = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(CELLS * 4);
  }

  /** Called by the host only, before each callback of every bot. */
  set(run: number): void {
    this.#changes = (this.#changes + 1) | 0;
    Atomics.store(this.#cells, CHANGES, this.#changes);
    Atomics.store(this.#cells, RUN, run);
  }

  /** 0 when it was the code of no bot. */
  get(): number {
    return Atomics.load(this.#cells, RUN);
  }

  /** While it stays the same, no other run's code has run, and the loop has not turned while the host was awake. */
  get changes(): number {
    return Atomics.load(this.#cells, CHANGES);
  }
}
