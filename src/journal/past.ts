// Runs in the journal thread. Owns how frames are found again: by number for streams that resume, and block by block for
// searches. What is read often is kept: the blocks that were read last.

import { KIND_CODE } from '../broadcast/frame.js';
import type { ReplayPart, ReplayRequest } from '../contract/journal.js';
import type { Filter } from '../front/filter.js';
import { Block, Head } from './block.js';
import type { Tables } from './tables.js';

/** Blocks that are kept in memory, of some 70 KB each. */
const MAX_KEPT = 64;
/** Frames that one request of a filtered stream looks at, at most. */
const MAX_SCANNED = 65_536;

export class Past {
  readonly #tables: Tables;
  /** Blocks from this frame on still change. */
  readonly #changing: () => number;
  readonly #kept = new Map<number, Block>();

  constructor(tables: Tables, changing: () => number) {
    this.#tables = tables;
    this.#changing = changing;
  }

  /** The block that has frame `seq`, or the first behind it; undefined when there is none. */
  from(seq: number): Block | undefined {
    return this.block(this.headFrom(seq));
  }

  /** Its head. */
  headFrom(seq: number): Head | undefined {
    const before = this.headUpTo(seq);
    if (before && before.next > seq) return before;
    for (const { value } of this.#tables.heads.getRange({ start: seq, limit: 1 })) {
      return new Head(value);
    }
    return undefined;
  }

  /** The head of the last block that begins at `seq` or before. */
  headUpTo(seq: number): Head | undefined {
    const range = { start: seq, reverse: true, limit: 1 };
    for (const { value } of this.#tables.heads.getRange(range)) return new Head(value);
    return undefined;
  }

  /** The block of this head; undefined when it was removed since. */
  block(head: Head | undefined): Block | undefined {
    if (!head) return undefined;
    const { first } = head;
    const kept = this.#kept.get(first);
    if (kept) return kept;
    const stored = this.#tables.blocks.getBinaryFast(first);
    if (!stored) return undefined;
    const block = new Block(stored);
    if (first < this.#changing()) {
      if (this.#kept.size >= MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value as number);
      this.#kept.set(first, block);
    }
    return block;
  }

  oldest(): Head | undefined {
    return this.headFrom(0);
  }

  newest(): Head | undefined {
    return this.headUpTo(Number.MAX_SAFE_INTEGER);
  }

  /** The first block with a frame of this time or later; undefined when there is none. */
  atTime(time: number): Head | undefined {
    const oldest = this.oldest();
    const newest = this.newest();
    if (!oldest || !newest || newest.clock < time) return undefined;
    if (oldest.clock >= time) return oldest;
    // The clock of a block never falls: halve the stretch of numbers until the two are neighbours.
    let low = oldest;
    let high = newest;
    for (;;) {
      const neighbour = this.headFrom(low.next);
      if (!neighbour || neighbour.first >= high.first) return high;
      const guess = this.headUpTo(Math.floor((low.next + high.first) / 2));
      const middle: Head = guess && guess.first > low.first ? guess : neighbour;
      if (middle.clock < time) low = middle;
      else if (middle.first < high.first) high = middle;
      else high = neighbour;
    }
  }

  /**
   * What a stream gets that goes on from `from`. It ends where frames are missing: they are told of by the one that asks
   * for what comes then. From within a block it ends with that block, so that streams that stood at different places of
   * it ask for the same from there on.
   */
  replay(request: ReplayRequest, filter: Filter | null): ReplayPart {
    const { from, pieceBytes, maxBytes } = request;
    const parts: Uint8Array[] = [];
    const pieces: ReplayPart['pieces'] = [];
    let size = 0;
    let piece = 0;
    let scanned = 0;
    let next = from;
    let first: number | null = null;
    let firstIsGap = false;
    for (;;) {
      const block = this.from(next);
      if (!block || (first !== null && block.first > next)) break;
      let seq = Math.max(next, block.first);
      const isWithin = seq > block.first;
      if (first === null) {
        first = seq;
        firstIsGap = block.kind(seq) === KIND_CODE.gap;
      }
      let runStart = block.start(seq);
      let runEnd = runStart;
      const flushRun = (): void => {
        if (runEnd > runStart) parts.push(block.data.subarray(runStart, runEnd));
      };
      for (; seq < block.next && size < maxBytes; seq++) {
        if (filter && !filter.matches(block, seq)) continue;
        const start = block.start(seq);
        const end = block.end(seq);
        if (start !== runEnd) {
          flushRun();
          runStart = start;
        }
        runEnd = end;
        if (piece > 0 && piece + end - start > pieceBytes) {
          pieces.push({ end: size, next: seq });
          piece = 0;
        }
        size += end - start;
        piece += end - start;
      }
      flushRun();
      scanned += seq - Math.max(next, block.first);
      next = seq;
      if (isWithin || size >= maxBytes || scanned >= MAX_SCANNED) break;
    }
    pieces.push({ end: size, next });
    return { bytes: Buffer.concat(parts), pieces, first, firstIsGap, next };
  }
}
