// One per bot host; owns the count of the host's heartbeats, whether it beats, how late they are, and what memory it used at the
// last one.
//
// Contract: one writer (the host), one reader (main). The host beats while code runs in it, also its own: AWAKE is 1 from the
// first callback after a pause, before that callback runs, until nothing has run for a while. While AWAKE is 1, a count that does
// not change means that the host's loop is blocked. The figures are for a host that cannot answer any more.

const COUNT = 0;
const USED_KB = 1;
const LIMIT_KB = 2;
const AWAKE = 3;
const LATE_MS = 4;
const THREAD = 5;
const CELLS = 6;

/** Beats after which the worst delay is forgotten: 10 to 20 s. */
const WINDOW_BEATS = 100;

/** Memory of a thread, heap and Buffers, and its limit, in bytes. */
export interface HeapFigures {
  used: number;
  limit: number;
}

export class Heartbeat {
  readonly #cells: Int32Array;
  /** The writer's own: the worst delay of this window and of the one before, in ms. */
  #late = [0, 0];
  #beats = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.#cells = new Int32Array(buffer);
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(CELLS * 4);
  }

  /** The figures are kept in whole KB: a cell holds 2 TB of them. @param lateMs how late the host's timer was. */
  beat({ used, limit }: HeapFigures, lateMs: number): void {
    const [before = 0, now = 0] = this.#late;
    this.#beats += 1;
    const worst = Math.max(now, Math.round(lateMs));
    this.#late = this.#beats % WINDOW_BEATS === 0 ? [worst, 0] : [before, worst];
    Atomics.store(this.#cells, LATE_MS, Math.max(before, worst));
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

  /** How late the host's timer was at worst in its last 100 to 200 beats, in ms. */
  get lateMs(): number {
    return Atomics.load(this.#cells, LATE_MS);
  }

  /** The system's id of the host's thread; 0 where that is not known. */
  set thread(id: number) {
    Atomics.store(this.#cells, THREAD, id);
  }

  get thread(): number {
    return Atomics.load(this.#cells, THREAD);
  }

  get count(): number {
    return Atomics.load(this.#cells, COUNT);
  }

  /** The memory at the last beat; null before the first. */
  get heap(): HeapFigures | null {
    if (this.count === 0) return null;
    const [used, limit] = [USED_KB, LIMIT_KB].map((cell) => Atomics.load(this.#cells, cell) * 1024);
    return { used: used as number, limit: limit as number };
  }
}
