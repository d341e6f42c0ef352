import { copyOfText } from '../copy-of-text.js';

/** Most names that are kept. */
const MAX_NAMES = 4096;

interface Known {
  low: number;
  high: number;
  name: string;
}

/** The names of hashes that were met: to take a name from a frame takes far longer than to look it up. */
export class KnownNames {
  /** Names by both words of the hash, as far as a number holds them. */
  readonly #names = new Map<number, Known>();

  /** @param read takes the name from the frame. */
  of(low: number, high: number, read: () => string | null): string | null {
    const key = (high & 0x1f_ffff) * 2 ** 32 + low;
    const known = this.#names.get(key);
    if (known?.low === low && known.high === high) return known.name;
    const name = read();
    if (name === null || low === 0) return name;
    if (this.#names.size >= MAX_NAMES) this.#names.clear();
    // A copy, because a slice would keep the text of a whole block in memory.
    const own = copyOfText(name);
    this.#names.set(key, { low, high, name: own });
    return own;
  }
}
