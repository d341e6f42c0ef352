import type { RingReader } from '../shared/memory/ring-reader.js';
import type { IndexedFrames } from '../shared/stream/frame-line.js';

/** Frames and bytes that are copied under one protection of the ring, so that the broadcaster does not wait. */
const STEP_FRAMES = 1024;
const STEP_BYTES = 256 * 1024;

/**
 * Runs in the rules thread. Owns a copy of some frames of the ring: a rule may be slow, and the broadcaster waits for who reads what it
 * wants to overwrite.
 */
export class FrameCopy implements IndexedFrames {
  readonly #ring: RingReader;
  #first = 0;
  #end = 0;
  #bytes = Buffer.alloc(STEP_BYTES);
  readonly #ends = new Uint32Array(STEP_FRAMES);
  readonly #kinds = new Uint8Array(STEP_FRAMES);
  readonly #levels = new Uint8Array(STEP_FRAMES);
  readonly #nodes = new Uint16Array(STEP_FRAMES);
  /** Four words of each frame: session and scope. */
  readonly #names = new Uint32Array(4 * STEP_FRAMES);
  /** All rules read the same frame one after the other. */
  #textOf = -1;
  #text = '';

  constructor(ring: RingReader) {
    this.#ring = ring;
  }

  /** The first frame of the copy, and the one after the last. */
  get first(): number {
    return this.#first;
  }

  get end(): number {
    return this.#end;
  }

  /**
   * Copies frames from `from` on, below `head`, at least one.
   * @returns false when the writer has passed `from` already; the copy is empty then.
   */
  take(from: number, head: number): boolean {
    const ring = this.#ring;
    this.#first = from;
    this.#end = from;
    this.#textOf = -1;
    if (!ring.protect(from)) return false;
    try {
      const { bytes, next } = ring.slice(from, Math.min(head, from + STEP_FRAMES), STEP_BYTES);
      if (bytes.length > this.#bytes.length) this.#bytes = Buffer.alloc(bytes.length);
      this.#bytes.set(bytes);
      const start = ring.position(from);
      for (let seq = from; seq < next; seq++) {
        const at = seq - from;
        this.#ends[at] = ring.end(seq) - start;
        this.#kinds[at] = ring.kind(seq);
        this.#levels[at] = ring.level(seq);
        this.#nodes[at] = ring.node(seq);
        this.#names[4 * at] = ring.sessionLow(seq);
        this.#names[4 * at + 1] = ring.sessionHigh(seq);
        this.#names[4 * at + 2] = ring.scopeLow(seq);
        this.#names[4 * at + 3] = ring.scopeHigh(seq);
      }
      this.#end = next;
    } finally {
      ring.release();
    }
    return true;
  }

  kind(seq: number): number {
    return this.#kinds[seq - this.#first] as number;
  }

  level(seq: number): number {
    return this.#levels[seq - this.#first] as number;
  }

  sessionLow(seq: number): number {
    return this.#names[4 * (seq - this.#first)] as number;
  }

  sessionHigh(seq: number): number {
    return this.#names[4 * (seq - this.#first) + 1] as number;
  }

  scopeLow(seq: number): number {
    return this.#names[4 * (seq - this.#first) + 2] as number;
  }

  scopeHigh(seq: number): number {
    return this.#names[4 * (seq - this.#first) + 3] as number;
  }

  node(seq: number): number {
    return this.#nodes[seq - this.#first] as number;
  }

  text(seq: number): string {
    if (seq !== this.#textOf) {
      const at = seq - this.#first;
      const from = at === 0 ? 0 : (this.#ends[at - 1] as number);
      this.#text = this.#bytes.toString('utf8', from, this.#ends[at] as number);
      this.#textOf = seq;
    }
    return this.#text;
  }
}
