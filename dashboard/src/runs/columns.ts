// Runs in the worker of a run. Numbers by row in typed arrays that grow: what a row costs is known.

/** Rows that are there from the start. */
const LEAST = 4096;

/** A growing list of numbers, 8 bytes each. */
export class Floats {
  list = new Float64Array(LEAST);
  length = 0;

  push(value: number): void {
    if (this.length === this.list.length) {
      const list = new Float64Array(this.list.length * 2);
      list.set(this.list);
      this.list = list;
    }
    this.list[this.length++] = value;
  }

  at(index: number): number {
    return this.list[index] ?? 0;
  }
}

/** A growing list of whole numbers from 0 to 2^32 - 1, 4 bytes each. */
export class Words {
  list = new Uint32Array(LEAST);
  length = 0;

  push(value: number): void {
    if (this.length === this.list.length) {
      const list = new Uint32Array(this.list.length * 2);
      list.set(this.list);
      this.list = list;
    }
    this.list[this.length++] = value;
  }

  at(index: number): number {
    return this.list[index] ?? 0;
  }
}

/** The first index from which on `isAtOrAfter` is true, as in an ascending list; `length` when there is none. */
export function firstWhere(length: number, isAtOrAfter: (index: number) => boolean): number {
  let [from, to] = [0, length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (isAtOrAfter(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
