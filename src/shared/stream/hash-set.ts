// Pure; used by the fronts. Owns a set of names by their hashes, as filters look them up: one for each frame and stream.

/** A name's two words; the low one is never 0 (src/shared/contract/name-hash.ts). */
export interface HashWords {
  low: number;
  high: number;
}

/**
 * Fixed once it is made, and small: 16 to 32 bytes for each name, where a Map of Sets takes hundreds. A query may bring a
 * thousand names, and each stream may have another query.
 */
export class HashSet {
  /** Open addressing: pairs of words, at most every second one taken; 0 stands for nothing. */
  readonly #cells: Uint32Array;
  readonly #mask: number;

  constructor(names: readonly HashWords[]) {
    let capacity = 2;
    while (capacity < 2 * names.length) capacity *= 2;
    this.#cells = new Uint32Array(2 * capacity);
    this.#mask = capacity - 1;
    for (const { low, high } of names) {
      const at = this.#find(low, high);
      this.#cells[at] = low;
      this.#cells[at + 1] = high;
    }
  }

  has(low: number, high: number): boolean {
    return low !== 0 && this.#cells[this.#find(low, high)] !== 0;
  }

  /** Where it is, or would be. */
  #find(low: number, high: number): number {
    const cells = this.#cells;
    // The lowest bit is set in every name's.
    let at = (low >>> 1) & this.#mask;
    while (cells[2 * at] !== 0 && (cells[2 * at] !== low || cells[2 * at + 1] !== high)) {
      at = (at + 1) & this.#mask;
    }
    return 2 * at;
  }
}
