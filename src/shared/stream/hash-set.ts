/** A name's two words; the low one is never 0 (src/shared/contract/name-hash.ts). */
export interface HashWords {
  low: number;
  high: number;
}

/**
 * An immutable set of names by their hashes, looked up for each frame and stream. It takes 16 to 32 bytes for each name, where
 * a Map of Sets takes hundreds: a query may have a thousand names, and each stream its own query.
 */
export class HashSet {
  /** Open addressing: pairs of words, at most half of them used; 0 is empty. */
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

  /** The low words of the names, each once: names that share one differ in the high word only. */
  lowWords(): number[] {
    const found = new Set<number>();
    for (let at = 0; at < this.#cells.length; at += 2) {
      const low = this.#cells[at] as number;
      if (low !== 0) found.add(low);
    }
    return [...found];
  }

  /** The place of the name, or where it would be. */
  #find(low: number, high: number): number {
    const cells = this.#cells;
    // The lowest bit of every name is set.
    let at = (low >>> 1) & this.#mask;
    while (cells[2 * at] !== 0 && (cells[2 * at] !== low || cells[2 * at + 1] !== high)) {
      at = (at + 1) & this.#mask;
    }
    return 2 * at;
  }
}
