// Used by every front; owns counts of what is open in the whole process, streams or connections: in total and by name
// (a token, an address).
//
// Contract: each front adds and subtracts in its own block; all fronts read all blocks. A front adds before it checks, so that
// of two requests at the limit both may be refused, but never both accepted. When a front dies main clears its block.
//
// A block, i32 each:  | total | 2 x ROW counts of the first kind of name | 2 x ROW of the second | ...
//
// Names are counted by hash, each in two rows at two independent places; the smaller of the two is the count (a
// count-min sketch). Memory is fixed for any number of names. The only possible error is to count too much: for a name
// that collides with another in both rows, one in 16 million pairs.

const ROW = 4096;

/** The most that may be open: in total, and for each name of a kind. The order of the keys is that of the checks. */
export type QuotaLimits<K extends string> = Readonly<Record<'total' | K, number>>;

export interface SharedQuota<K extends string> {
  limits: QuotaLimits<K>;
  buffer: SharedArrayBuffer;
  fronts: number;
}

/** The names that something counts under. A missing kind is not counted. */
export type QuotaNames<K extends string> = Readonly<Partial<Record<K, QuotaName>>>;

/** A name's two words of hash. */
export interface QuotaName {
  low: number;
  high: number;
}

export function createQuota<K extends string>(
  limits: QuotaLimits<K>,
  fronts: number,
): SharedQuota<K> {
  return { limits, fronts, buffer: new SharedArrayBuffer(fronts * blockOf(limits) * 4) };
}

/** Takes what a dead front had open out of the counts. */
export function clearQuota<K extends string>(shared: SharedQuota<K>, front: number): void {
  const block = blockOf(shared.limits);
  new Int32Array(shared.buffer, front * block * 4, block).fill(0);
}

export class Quota<K extends string> {
  readonly #cells: Int32Array;
  readonly #shared: SharedQuota<K>;
  readonly #kinds: readonly K[];
  readonly #block: number;
  readonly #own: number;

  constructor(shared: SharedQuota<K>, front: number) {
    this.#cells = new Int32Array(shared.buffer);
    this.#shared = shared;
    this.#kinds = kindsOf(shared.limits);
    this.#block = blockOf(shared.limits);
    this.#own = front * this.#block;
  }

  /** Counts one more. @returns the limit that it would exceed, and then it is not counted. */
  acquire(names: QuotaNames<K>): 'total' | K | undefined {
    this.#add(names, 1);
    const exceeded = this.#exceeded(names);
    if (exceeded) this.#add(names, -1);
    return exceeded;
  }

  release(names: QuotaNames<K>): void {
    this.#add(names, -1);
  }

  /** The number that all fronts have open. */
  total(): number {
    return this.#sum(0);
  }

  #exceeded(names: QuotaNames<K>): 'total' | K | undefined {
    const { limits } = this.#shared;
    if (this.total() > limits.total) return 'total';
    return this.#kinds.find((kind, at) => {
      const name = names[kind];
      return name !== undefined && this.#count(at, name) > limits[kind];
    });
  }

  // For each connection that opens or closes: without iterators, which a crowd would pay for.
  #add(names: QuotaNames<K>, change: number): void {
    const own = this.#own;
    Atomics.add(this.#cells, own, change);
    for (let at = 0; at < this.#kinds.length; at++) {
      const name = names[this.#kinds[at] as K];
      if (name === undefined) continue;
      Atomics.add(this.#cells, own + firstCell(at, name), change);
      Atomics.add(this.#cells, own + secondCell(at, name), change);
    }
  }

  #count(at: number, name: QuotaName): number {
    return Math.min(this.#sum(firstCell(at, name)), this.#sum(secondCell(at, name)));
  }

  #sum(place: number): number {
    let sum = 0;
    for (let front = 0; front < this.#shared.fronts; front++) {
      sum += Atomics.load(this.#cells, front * this.#block + place);
    }
    return sum;
  }
}

function kindsOf<K extends string>(limits: QuotaLimits<K>): K[] {
  return (Object.keys(limits) as ('total' | K)[]).filter((kind): kind is K => kind !== 'total');
}

/** Cells of one front. */
function blockOf<K extends string>(limits: QuotaLimits<K>): number {
  return 1 + 2 * ROW * kindsOf(limits).length;
}

function firstCell(at: number, { low }: QuotaName): number {
  return sectionOf(at) + ((low >>> 1) % ROW);
}

function secondCell(at: number, { high }: QuotaName): number {
  return sectionOf(at) + ROW + (high % ROW);
}

function sectionOf(at: number): number {
  return 1 + 2 * ROW * at;
}
