// One per bot host; owns the count of the host's heartbeats, whether it beats, and what memory it used at the last beat.
//
// Contract: one writer (the host), one reader (main). The host beats while code runs in it, also its own: AWAKE is 1 from the
// first callback after a pause, before that callback runs, until nothing has run for a while. While AWAKE is 1, a count that does
// not change means that the host's loop is blocked. The figures are for a host that cannot answer any more.

const COUNT = 0;
const USED_KB = 1;
const LIMIT_KB = 2;
const AWAKE = 3;
const CELLS = 4;

/** Memory of a thread, heap and Buffers, and its limit, in bytes. */
export interface HeapFigures {
  used: number;
  limit: number;
}

export class Heartbeat {
  readonly #cells: Int32Array;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(CELLS * 4);
  }

  /** The figures are kept in whole KB: a cell holds 2 TB of them. */
  beat({ used, limit }: HeapFigures): void {
    Atomics.store(this.#cells, USED_KB, Math.round(used / 1024));
    Atomics.store(this.#cells, LIMIT_KB, Math.round(limit / 1024));
    Atomics.add(this.#cells, COUNT, 1);
  }

  /** The host's code runs, or is about to; beats follow. */
  set isAwake(is: boolean) {
    Atomics.store(this.#cells, AWAKE, is ? 1 : 0);
  }

  get isAwake(): boolean {
    return Atomics.load(this.#cells, AWAKE) === 1;
  }

  get count(): number {
    return Atomics.load(this.#cells, COUNT);
  }

  /** As of the last beat; null before the first. */
  get heap(): HeapFigures | null {
    if (this.count === 0) return null;
    const [used, limit] = [USED_KB, LIMIT_KB].map((cell) => Atomics.load(this.#cells, cell) * 1024);
    return { used: used as number, limit: limit as number };
  }
}
