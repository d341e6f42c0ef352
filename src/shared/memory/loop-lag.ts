// Histograms of event loop lag: one for each thread, and one that dedicated hosts share.
//
// Contract: any number of writers and readers; Atomics, because a block may have several writers. Ten additions a second
// and thread, while the thread works: an idle loop is never late, and to find that out would wake it. A block outlives its thread: the thread that replaces it continues with the block.
//
// A block, i64 each:  | count of each bucket, the last above all bounds | sum, in microseconds |

/** Upper bounds of the buckets, in s. */
export const LAG_BOUNDS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const CELLS = LAG_BOUNDS.length + 2;
const SUM = CELLS - 1;

/** One block, as passed to a thread. */
export interface SharedLag {
  buffer: SharedArrayBuffer;
  block: number;
}

export function createLags(blocks: number): SharedArrayBuffer {
  return new SharedArrayBuffer(blocks * CELLS * 8);
}

export class LoopLag {
  readonly #cells: BigInt64Array;

  constructor({ buffer, block }: SharedLag) {
    this.#cells = new BigInt64Array(buffer, block * CELLS * 8, CELLS);
  }

  /** @param seconds that a timer was late; an early one counts as on time. */
  observe(seconds: number): void {
    const late = Math.max(0, seconds);
    const at = LAG_BOUNDS.findIndex((bound) => late <= bound);
    Atomics.add(this.#cells, at === -1 ? LAG_BOUNDS.length : at, 1n);
    Atomics.add(this.#cells, SUM, BigInt(Math.round(late * 1e6)));
  }

  /** Adds what another histogram has counted: of a process, which cannot write here. @param sum in s. */
  add({ counts, sum }: { counts: readonly number[]; sum: number }): void {
    for (const [at, count] of counts.slice(0, SUM).entries()) {
      if (count > 0) Atomics.add(this.#cells, at, BigInt(count));
    }
    Atomics.add(this.#cells, SUM, BigInt(Math.round(sum * 1e6)));
  }

  /** Counts of the buckets, the last above all bounds, and the sum in s. */
  read(): { counts: number[]; sum: number } {
    const counts = Array.from({ length: SUM }, (_, at) => Number(Atomics.load(this.#cells, at)));
    return { counts, sum: Number(Atomics.load(this.#cells, SUM)) / 1e6 };
  }
}
