// The counters of threads for GET /metrics: one block of cells for each front and one for the broadcaster.
//
// Contract: one writer for each block, any number of readers. A cell is an 8-byte float that is read and written plainly,
// not with Atomics: there is none for floats, and on the hot path a count must cost no more than an addition. Nothing is
// ordered by a cell. A reader may see it a moment late; in two halves it cannot, on the 64-bit machines that the service
// runs on. A thread that replaces another continues with its block: counts only grow. Numbers are exact up to 2^53.

/** The blocks, as passed to a thread. */
export interface SharedCounters {
  buffer: SharedArrayBuffer;
  /** Cells of one block. */
  cells: number;
}

export function createCounters(blocks: number, cells: number): SharedCounters {
  // Blocks do not share a cache line.
  const aligned = Math.ceil(cells / 8) * 8;
  return { buffer: new SharedArrayBuffer(blocks * aligned * 8), cells: aligned };
}

/** One block, for the thread that counts in it. */
export class Counters {
  readonly #cells: Float64Array;

  constructor(shared: SharedCounters, block: number) {
    this.#cells = cellsOf(shared, block);
  }

  /** A private block. */
  static alone(cells: number): Counters {
    return new Counters(createCounters(1, cells), 0);
  }

  add(cell: number, by: number): void {
    this.#cells[cell] = (this.#cells[cell] as number) + by;
  }

  set(cell: number, value: number): void {
    this.#cells[cell] = value;
  }

  get(cell: number): number {
    return this.#cells[cell] as number;
  }

  /** Counts a value in its bucket. `first` is the cell of the first bucket; the sum follows the last. */
  observe(first: number, bounds: readonly number[], value: number): void {
    let bucket = 0;
    while (bucket < bounds.length && value > (bounds[bucket] as number)) bucket += 1;
    this.add(first + bucket, 1);
    this.add(first + bounds.length + 1, value);
  }
}

/** The sum of a cell over all blocks. */
export function sumOf(shared: SharedCounters, blocks: number, cell: number): number {
  let sum = 0;
  for (let block = 0; block < blocks; block++) sum += cellsOf(shared, block)[cell] as number;
  return sum;
}

/** Sets a cell of a thread that has ended, for example its open streams. */
export function setCell(shared: SharedCounters, block: number, cell: number, value: number): void {
  cellsOf(shared, block)[cell] = value;
}

function cellsOf({ buffer, cells }: SharedCounters, block: number): Float64Array {
  return new Float64Array(buffer, block * cells * 8, cells);
}
