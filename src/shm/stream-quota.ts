// Used by every front; owns the counts of open streams of the whole process: in total, per token and per address.
//
// Contract: each front adds and subtracts in a block of its own; all fronts read all blocks. A front adds first and looks
// then, so that two that come at once can both be refused at the very edge, but never both let in. When a front dies
// main clears its block.
//
// A block, i32 each:  | total | 2 x ROW token counts | 2 x ROW address counts |
//
// Names are counted by hash, each in two rows at two independent places; the smaller of the two is the count (a
// count-min sketch). Memory is fixed however many names there are, and an error can only be one of counting too much:
// for a name that meets another in both rows, one in 16 million pairs.

const ROW = 4096;
const TOKENS = 1;
const ADDRESSES = TOKENS + 2 * ROW;
const BLOCK = ADDRESSES + 2 * ROW;

/** Limits; what is counted is streams. */
export interface QuotaLimits {
  total: number;
  perToken: number;
  perAddress: number;
}

export interface SharedQuota extends QuotaLimits {
  buffer: SharedArrayBuffer;
  fronts: number;
}

/** A name's two words of hash. */
export interface QuotaName {
  low: number;
  high: number;
}

export function createQuota(limits: QuotaLimits, fronts: number): SharedQuota {
  return { ...limits, fronts, buffer: new SharedArrayBuffer(fronts * BLOCK * 4) };
}

/** Takes a dead front's streams out of the counts. */
export function clearQuota(shared: SharedQuota, front: number): void {
  new Int32Array(shared.buffer, front * BLOCK * 4, BLOCK).fill(0);
}

export class StreamQuota {
  readonly #cells: Int32Array;
  readonly #limits: SharedQuota;
  readonly #own: number;

  constructor(shared: SharedQuota, front: number) {
    this.#cells = new Int32Array(shared.buffer);
    this.#limits = shared;
    this.#own = front * BLOCK;
  }

  /** Counts one more stream. @returns the limit that it would exceed, and then it is not counted. */
  acquire(token: QuotaName, address: QuotaName): keyof QuotaLimits | undefined {
    this.#add(token, address, 1);
    const exceeded = this.#exceeded(token, address);
    if (exceeded) this.#add(token, address, -1);
    return exceeded;
  }

  release(token: QuotaName, address: QuotaName): void {
    this.#add(token, address, -1);
  }

  /** Open streams of all fronts. */
  total(): number {
    return this.#sum(0);
  }

  #exceeded(token: QuotaName, address: QuotaName): keyof QuotaLimits | undefined {
    if (this.total() > this.#limits.total) return 'total';
    if (this.#count(TOKENS, token) > this.#limits.perToken) return 'perToken';
    if (this.#count(ADDRESSES, address) > this.#limits.perAddress) return 'perAddress';
    return undefined;
  }

  #add(token: QuotaName, address: QuotaName, change: number): void {
    const places = [0, ...placesOf(TOKENS, token), ...placesOf(ADDRESSES, address)];
    for (const place of places) Atomics.add(this.#cells, this.#own + place, change);
  }

  #count(section: number, name: QuotaName): number {
    const [first, second] = placesOf(section, name);
    return Math.min(this.#sum(first), this.#sum(second));
  }

  #sum(place: number): number {
    let sum = 0;
    for (let front = 0; front < this.#limits.fronts; front++) {
      sum += Atomics.load(this.#cells, front * BLOCK + place);
    }
    return sum;
  }
}

function placesOf(section: number, { low, high }: QuotaName): [number, number] {
  return [section + ((low >>> 1) % ROW), section + ROW + (high % ROW)];
}
