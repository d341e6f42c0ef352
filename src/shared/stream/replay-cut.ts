// Runs in the journal thread and in the bus thread. Cuts frames into the pieces that streams which resume are sent.

import type { ReplayPart, ReplayRequest } from '../contract/journal-messages.js';
import type { Filter } from './filter.js';
import { sseFrame } from './frame.js';
import type { IndexedFrames } from './frame-line.js';

/** Memory of a reusable part: a multiple of this. */
const MEMORY_BYTES = 64 * 1024;

/** How long a query may read texts for one part, in ms: then the part ends. */
const QUERY_MS = 4;

/** Whole frames with numbers that follow each other, in one piece of memory. */
export interface FrameBlock extends IndexedFrames {
  readonly data: Uint8Array;
  /** Number after the last frame. */
  readonly next: number;
  readonly hasBroken: boolean;
  start(seq: number): number;
  end(seq: number): number;
  isBroken(seq: number): boolean;
  /** The bytes that replace a broken frame. */
  gap(seq: number): { id: string; json: string };
}

/** Cuts frames into pieces of one write each. */
export class Cut {
  size = 0;
  readonly began = performance.now();
  readonly #request: ReplayRequest;
  readonly #filter: Filter | null;
  /** The frames so far. */
  #bytes: Uint8Array;
  #copied = 0;
  readonly #pieces: ReplayPart['pieces'] = [];
  /** Bytes of the last piece. */
  #piece = 0;

  constructor(request: ReplayRequest, filter: Filter | null) {
    this.#request = request;
    this.#filter = filter;
    this.#bytes = new Uint8Array(request.memory ?? new ArrayBuffer(0));
  }

  /** Takes the matching frames of the block from `seq` on. @returns where it stopped: at the block's end, unless the part is full or its query has used up its time. */
  take(block: FrameBlock, seq: number): number {
    const { maxBytes } = this.#request;
    const { hasBroken } = block;
    const filter = this.#filter;
    let runStart = block.start(seq);
    let runEnd = runStart;
    let next = seq;
    for (; next < block.next && this.size < maxBytes; next++) {
      if (filter?.hasQuery && performance.now() - this.began > QUERY_MS && next > seq) break;
      if (filter && !filter.matches(block, next)) continue;
      const start = block.start(next);
      const end = block.end(next);
      if (start !== runEnd) {
        this.#copy(block.data, runStart, runEnd);
        runStart = start;
      }
      runEnd = end;
      if (hasBroken && block.isBroken(next)) {
        this.#copy(block.data, runStart, start);
        runStart = end;
        const { id, json } = block.gap(next);
        const gap = Buffer.from(sseFrame(id, 'gap', json));
        this.#count(gap.length, next);
        this.#copy(gap, 0, gap.length);
      } else this.#count(end - start, next);
    }
    this.#copy(block.data, runStart, runEnd);
    return next;
  }

  /** Counts frame `next`, of so many bytes, in the last piece, or in a new one. */
  #count(bytes: number, next: number): void {
    if (this.#piece > 0 && this.#piece + bytes > this.#request.pieceBytes) {
      this.#pieces.push({ end: this.size, next });
      this.#piece = 0;
    }
    this.size += bytes;
    this.#piece += bytes;
  }

  #copy(data: Uint8Array, start: number, end: number): void {
    if (end === start) return;
    const size = this.#copied + end - start;
    if (size > this.#bytes.length) {
      const { maxBytes } = this.#request;
      // A part without a filter is nearly always full; one with a filter may hold a single line.
      const wanted = this.#filter ? 2 * size : Math.max(size, maxBytes + MEMORY_BYTES);
      const more = Buffer.allocUnsafeSlow(Math.ceil(wanted / MEMORY_BYTES) * MEMORY_BYTES);
      more.set(this.#bytes.subarray(0, this.#copied));
      this.#bytes = more;
    }
    this.#bytes.set(data.subarray(start, end), this.#copied);
    this.#copied = size;
  }

  part(first: number | null, next: number, firstIsGap = false): ReplayPart {
    const pieces = [...this.#pieces, { end: this.size, next }];
    // A small part must not keep much memory.
    const isSmall = this.size < this.#bytes.length / 2;
    const bytes = isSmall ? Buffer.allocUnsafeSlow(this.size) : this.#bytes.subarray(0, this.size);
    if (isSmall) bytes.set(this.#bytes.subarray(0, this.size));
    return { bytes, pieces, first, firstIsGap, next, readMs: performance.now() - this.began };
  }
}
