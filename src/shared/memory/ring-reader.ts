// Runs in a front thread. Owns that front's READING and ARMED cells; reads the rest of the ring.
//
// Contract: one reader object per READING cell. Bytes and records may be read only between protect() and release(), and
// only from the protected sequence number on. ring-writer.ts has the proof.

import {
  ARMED_FOR_NEXT,
  ARMED_FOR_STEP,
  AWAKE,
  armedCell,
  HALF_STRIDE,
  HEAD,
  IDLE,
  KIND_OCTET,
  LENGTH_WORD,
  LEVEL_OCTET,
  NODE_HALF,
  openRing,
  POSITION_STRIDE,
  RECORD_BYTES,
  type RingViews,
  readingCell,
  SCOPE_WORD,
  SESSION_WORD,
  type SharedRing,
  TAIL,
  WORD_STRIDE,
} from './layout.js';

/** A run of whole frames as one view on the ring. */
export interface Slice {
  bytes: Uint8Array;
  /** Sequence number after the last frame of the slice. */
  next: number;
}

export class RingReader {
  readonly #ring: RingViews;
  readonly #slotMask: number;
  readonly #reading: number;
  readonly #armed: number;
  /** The lowest sequence number that is protected now, Infinity when none is. */
  #protected = Number.POSITIVE_INFINITY;

  constructor(shared: SharedRing, front: number) {
    this.#ring = openRing(shared);
    this.#slotMask = shared.slots - 1;
    this.#reading = readingCell(front);
    this.#armed = armedCell(front);
  }

  /** Sequence number of the next frame to be published. */
  head(): number {
    return Number(Atomics.load(this.#ring.cells, HEAD));
  }

  /** Sequence number of the oldest frame that is still whole. It may be overwritten before the next statement. */
  tail(): number {
    return Number(Atomics.load(this.#ring.cells, TAIL));
  }

  /**
   * Keeps the frames from `from` on in place until {@link release}.
   * @returns false when the writer has passed `from` already (a lap); nothing that was not protected before is now.
   */
  protect(from: number): boolean {
    if (from >= this.#protected) return true;
    const { cells } = this.#ring;
    Atomics.store(cells, this.#reading, BigInt(from));
    if (Number(Atomics.load(cells, TAIL)) <= from) {
      this.#protected = from;
      return true;
    }
    Atomics.store(
      cells,
      this.#reading,
      this.#protected === Number.POSITIVE_INFINITY ? IDLE : BigInt(this.#protected),
    );
    return false;
  }

  /** Lets the writer overwrite what was protected. Keep the time from protect to here short: the writer may wait. */
  release(): void {
    if (this.#protected === Number.POSITIVE_INFINITY) return;
    this.#protected = Number.POSITIVE_INFINITY;
    Atomics.store(this.#ring.cells, this.#reading, IDLE);
    Atomics.notify(this.#ring.cells, this.#reading);
  }

  /**
   * The longest run of whole frames from `from` on, below `head`, of at most `maxBytes`, in one piece of memory.
   * `from` must be protected and below `head`. Holds at least one frame, also when that is larger than `maxBytes`.
   */
  slice(from: number, head: number, maxBytes: number): Slice {
    const { bytes, data } = this.#ring;
    const start = this.position(from);
    const place = start % bytes;
    // A frame fits when it ends within maxBytes and does not wrap around the byte ring.
    const limit = Math.min(start + maxBytes, start - place + bytes);
    let last = head - 1;
    if (this.end(last) > limit) {
      let fits = from;
      while (last - fits > 1) {
        const middle = fits + Math.floor((last - fits) / 2);
        if (this.end(middle) > limit) last = middle;
        else fits = middle;
      }
      last = fits;
    }
    return { bytes: data.subarray(place, place + this.end(last) - start), next: last + 1 };
  }

  /**
   * How many frames there are and the bytes that they take, as of a moment ago. Not to be called while the ring is
   * protected.
   */
  used(): { frames: number; bytes: number } {
    const tail = this.tail();
    const head = this.head();
    // The writer may just have overwritten it; the next call finds more.
    if (head <= tail || !this.protect(tail)) return { frames: 0, bytes: 0 };
    const bytes = this.end(head - 1) - this.position(tail);
    this.release();
    return { frames: head - tail, bytes };
  }

  get capacity(): number {
    return this.#ring.bytes;
  }

  /** The bytes of one protected frame. */
  frame(seq: number): Uint8Array {
    const place = this.position(seq) % this.#ring.bytes;
    return this.#ring.data.subarray(place, place + this.length(seq));
  }

  /** Text of one protected frame. */
  text(seq: number): string {
    const place = this.position(seq) % this.#ring.bytes;
    return this.#ring.data.toString('utf8', place, place + this.length(seq));
  }

  /** Copies one protected frame to `target` at `offset`, returns its length. */
  copy(seq: number, target: Uint8Array, offset: number): number {
    const length = this.length(seq);
    const place = this.position(seq) % this.#ring.bytes;
    this.#ring.data.copy(target, offset, place, place + length);
    return length;
  }

  position(seq: number): number {
    return this.#ring.positions[(seq & this.#slotMask) * POSITION_STRIDE] as number;
  }

  length(seq: number): number {
    return this.#word(seq, LENGTH_WORD);
  }

  end(seq: number): number {
    return this.position(seq) + this.length(seq);
  }

  kind(seq: number): number {
    return this.#octet(seq, KIND_OCTET);
  }

  level(seq: number): number {
    return this.#octet(seq, LEVEL_OCTET);
  }

  sessionLow(seq: number): number {
    return this.#word(seq, SESSION_WORD);
  }

  sessionHigh(seq: number): number {
    return this.#word(seq, SESSION_WORD + 1);
  }

  scopeLow(seq: number): number {
    return this.#word(seq, SCOPE_WORD);
  }

  scopeHigh(seq: number): number {
    return this.#word(seq, SCOPE_WORD + 1);
  }

  node(seq: number): number {
    return this.#ring.halves[(seq & this.#slotMask) * HALF_STRIDE + NODE_HALF] as number;
  }

  /**
   * Asks the writer to wake this front at the next publish after `seen`.
   * @returns false when there are newer frames already: then no wake-up comes.
   */
  arm(seen: number): boolean {
    const { cells } = this.#ring;
    Atomics.store(cells, this.#armed, ARMED_FOR_NEXT);
    if (this.head() === seen) return true;
    // The writer may have seen the cell in between; then a spurious wake-up comes, which is harmless.
    Atomics.store(cells, this.#armed, AWAKE);
    return false;
  }

  /**
   * Asks the writer to wake this front only when the ring has moved by a step: for a front that sends nothing, but must not
   * be lapped. Frames that were published meanwhile do not wake it.
   */
  armForStep(): void {
    Atomics.store(this.#ring.cells, this.#armed, ARMED_FOR_STEP);
  }

  #word(seq: number, field: number): number {
    return this.#ring.words[(seq & this.#slotMask) * WORD_STRIDE + field] as number;
  }

  #octet(seq: number, field: number): number {
    return this.#ring.octets[(seq & this.#slotMask) * RECORD_BYTES + field] as number;
  }
}

/** Frees the cells of a front that died while it read, so that the writer does not wait for it forever. Called by main. */
export function releaseReader(shared: SharedRing, front: number): void {
  const { cells } = openRing(shared);
  Atomics.store(cells, readingCell(front), IDLE);
  Atomics.store(cells, armedCell(front), AWAKE);
  Atomics.notify(cells, readingCell(front));
}
