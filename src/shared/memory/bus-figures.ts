// How far the bus thread of a cluster is: what it has published of the node's own stream, and what it has not read of the cluster's.
//
// Contract: one writer, the bus thread; main reads. It is in shared memory because it changes with every block, and an answer is to have
// the figures of its moment.
//
// Cells, i64: | number of the first frame that is not on the stream of the cluster | blocks that are not read |

import { HEAD, openRing, type SharedRing } from './layout.js';

const NEXT = 0;
const BEHIND = 1;
const CELLS = 2;

/** @param first number of the first frame of the node's own stream in this run. */
export function createBusFigures(first: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT);
  new BigInt64Array(buffer)[NEXT] = BigInt(first);
  return buffer;
}

export class BusFigures {
  readonly #cells: BigInt64Array;
  readonly #ring: BigInt64Array;

  /** @param own the ring of the node's own stream. */
  constructor(shared: SharedArrayBuffer, own: SharedRing) {
    this.#cells = new BigInt64Array(shared);
    this.#ring = openRing(own).cells;
  }

  set next(next: number) {
    Atomics.store(this.#cells, NEXT, BigInt(next));
  }

  set behind(blocks: number) {
    Atomics.store(this.#cells, BEHIND, BigInt(blocks));
  }

  /** Blocks of the stream that this node has not read yet. */
  get behind(): number {
    return Number(Atomics.load(this.#cells, BEHIND));
  }

  /** Frames of this node that are not on the stream of the cluster yet. */
  get unpublished(): number {
    // In this order: frames that come meanwhile are not published yet.
    const next = Atomics.load(this.#cells, NEXT);
    return Math.max(0, Number(Atomics.load(this.#ring, HEAD) - next));
  }
}
