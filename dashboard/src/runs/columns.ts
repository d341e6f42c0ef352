// Runs in the worker of a run. Numbers by row in growing typed arrays, so that the memory for a row is known.

/** Initial capacity, in rows. */
const LEAST = 4096;

/** A growing list of numbers. */
class Column {
  readonly #make: (length: number) => Float64Array | Uint32Array;
  list: Float64Array | Uint32Array;
  length = 0;

  constructor(make: (length: number) => Float64Array | Uint32Array) {
    this.#make = make;
    this.list = make(LEAST);
  }

  push(value: number): void {
    if (this.length === this.list.length) {
      const list = this.#make(this.list.length * 2);
      list.set(this.list);
      this.list = list;
    }
    this.list[this.length++] = value;
  }

  at(index: number): number {
    return this.list[index] ?? 0;
  }
}

/** 8 bytes each. */
export class Floats extends Column {
  constructor() {
    super((length) => new Float64Array(length));
  }
}

/** Whole numbers from 0 to 2^32 - 1, 4 bytes each. */
export class Words extends Column {
  constructor() {
    super((length) => new Uint32Array(length));
  }
}
