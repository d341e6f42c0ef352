// Runs in a front thread. Owns the account of what blocked streams may have left in the process.
//
// A large write costs less per byte than several small ones: docs/BENCHMARKS.md. But what a socket does not accept stays in
// the process until its client reads again. So every stream gets writes of at most MEAN_HELD_BYTES, and larger ones only when it
// has accepted a lot; a stream that blocks gets smaller ones. A client that never reads blocks before it gets the largest: the
// system accepts a few megabytes for it.
//
// A stream that stops reading leaves half of its last write on average. So once SPARE_BYTES are held, a write has at most
// 2 x MEAN_HELD_BYTES, and at `maxHeldBytes` only the smallest size is left.

import type { Subscriber } from './subscriber.js';

/** A stream gets the next size when it has accepted this many writes of that size, without blocking in between. */
const GROW_AFTER = 32;
/** The bytes that a blocked stream holds on average, once {@link SPARE_BYTES} are held in total. */
const MEAN_HELD_BYTES = 80_000;
const SPARE_BYTES = 4 * 1024 * 1024;

export interface WriteSizesOptions {
  /** Sizes of writes in bytes, ascending. */
  sizes: readonly number[];
  /** The most bytes that blocked streams hold before only the smallest size is used. */
  maxHeldBytes: number;
  /** Streams that get the same array share what they hold of it, and hold all of it. Otherwise each has a copy. */
  shared: boolean;
}

export class WriteSizes {
  readonly #sizes: readonly number[];
  /** Index of the size that a stream gets at first: the largest that it may leave in the process. */
  readonly #first: number;
  readonly #maxHeldBytes: number;
  /** Shared arrays that streams hold, and how many do. Undefined if each has a copy. */
  readonly #holders: Map<Uint8Array, number> | undefined;
  #heldBytes = 0;

  constructor({ sizes, maxHeldBytes, shared }: WriteSizesOptions) {
    this.#sizes = sizes;
    const first = sizes.findLastIndex((size) => size <= MEAN_HELD_BYTES);
    this.#first = Math.max(0, first);
    this.#maxHeldBytes = maxHeldBytes;
    this.#holders = shared ? new Map() : undefined;
  }

  /** Upper limit of the bytes that blocked streams hold. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** The most bytes for the stream's next write. */
  next({ writeLevel }: Subscriber): number {
    let at = this.#first + writeLevel;
    while (at > 0 && !this.#fits(this.#sizes[at] as number)) at -= 1;
    return this.#sizes[at] as number;
  }

  /** The stream accepted a write. */
  accepted(subscriber: Subscriber, bytes: number): void {
    if (subscriber.held !== undefined) this.release(subscriber);
    const next = this.#sizes[this.#first + subscriber.writeLevel + 1];
    if (next === undefined) return;
    subscriber.accepted += bytes;
    if (subscriber.accepted >= next * GROW_AFTER) subscriber.writeLevel += 1;
  }

  /** The stream blocked at a write. */
  blocked(subscriber: Subscriber, bytes: Uint8Array): void {
    // Later writes to a blocked stream, a few heartbeats, are not counted.
    if (subscriber.held !== undefined) return;
    subscriber.accepted = 0;
    subscriber.writeLevel = Math.max(0, subscriber.writeLevel - 1);
    subscriber.held = bytes;
    if (this.#holders === undefined) {
      this.#heldBytes += bytes.length;
      return;
    }
    const holders = this.#holders.get(bytes) ?? 0;
    this.#holders.set(bytes, holders + 1);
    if (holders === 0) this.#heldBytes += bytes.length;
  }

  /** The stream is not blocked any more, or gone. */
  release(subscriber: Subscriber): void {
    const { held } = subscriber;
    if (held === undefined) return;
    subscriber.held = undefined;
    const others = (this.#holders?.get(held) ?? 1) - 1;
    if (others > 0) {
      this.#holders?.set(held, others);
      return;
    }
    this.#holders?.delete(held);
    this.#heldBytes -= held.length;
  }

  #fits(size: number): boolean {
    if (this.#heldBytes + size > this.#maxHeldBytes) return false;
    return this.#heldBytes < SPARE_BYTES || size <= 2 * MEAN_HELD_BYTES;
  }
}
