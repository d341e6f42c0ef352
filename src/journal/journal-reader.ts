// Runs in the journal thread. Owns a cache of recently read blocks. Reads frames by number for streams that resume, and block
// by block for searches.

import type { ReplayPart, ReplayRequest } from '../shared/contract/journal-messages.js';
import type { Filter } from '../shared/stream/filter.js';
import { KIND_CODE, sseFrame } from '../shared/stream/frame.js';
import { Block, Head } from './block.js';
import { isPosted, PostingIterator } from './posting-iterator.js';
import type { Recorder } from './recorder.js';
import type { Tables } from './tables.js';

/** Cached blocks, of some 70 KB each. */
const MAX_CACHED = 64;
/** Memory for a block that is not cached; a larger one gets its own. */
const SCRATCH_BYTES = 256 * 1024;
/** Memory of a reusable part: a multiple of this. */
const MEMORY_BYTES = 64 * 1024;
/** How long one request of a stream may take, in ms: then the part ends, and the next request continues. */
const REPLAY_MS = 4;

export class JournalReader {
  readonly #tables: Tables;
  /** Blocks from this frame on may still change. */
  readonly #changing: () => number;
  readonly #cached = new Map<number, Block>();
  /** Reused: allocating memory for each block and each part was a fifth of the CPU time of a replay. */
  readonly #scratch = new ArrayBuffer(SCRATCH_BYTES);

  constructor(tables: Tables, changing: () => number) {
    this.#tables = tables;
    this.#changing = changing;
  }

  /** The block with frame `seq`, or the first after it. */
  from(seq: number): Block | undefined {
    return this.block(this.headFrom(seq));
  }

  /** The head of {@link from}. */
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

  /** The block of this head; undefined when it was removed since. @throws Error when it is damaged. */
  block(head: Head | undefined): Block | undefined {
    if (!head) return undefined;
    const { first } = head;
    const cached = this.#cached.get(first);
    if (cached) return cached;
    const block = this.#read(head);
    if (!block) return undefined;
    if (first < this.#changing()) {
      if (this.#cached.size >= MAX_CACHED)
        this.#cached.delete(this.#cached.keys().next().value as number);
      this.#cached.set(first, block);
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
    // The clock of the blocks never decreases: a binary search over sequence numbers.
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
   * The next part for a stream that replays from `from`. It ends where frames are missing; the next request reports them.
   * A part that starts inside a block ends with that block, so that streams at different places in it ask for the same parts
   * from there on. Blocks that have nothing for the filter are not read.
   */
  replay(
    request: ReplayRequest,
    filter: Filter | null,
    unposted: Recorder['unposted'] = () => [],
  ): ReplayPart {
    const { from, maxBytes } = request;
    let head = this.headFrom(from);
    const cut = new Cut(request, filter);
    if (!head) return cut.part(null, from);
    if (head.first > from) {
      const isGap = this.block(head)?.kind(head.first) === KIND_CODE.gap;
      return cut.part(head.first, head.first, isGap);
    }
    const end = cut.began + REPLAY_MS;
    const sessions = filter?.sessions;
    const places = isPosted(sessions)
      ? new PostingIterator(this.#tables, unposted, sessions)
      : undefined;
    let next = from;
    while (head) {
      const isWithin = next > head.first;
      const at = places ? places.from(next) : next;
      if (at < head.next) {
        const mayMatch = filter?.mayMatch(head.kinds, head.levels) ?? true;
        const block = mayMatch ? this.#blockFor(head, filter) : undefined;
        next = block ? cut.take(block, at) : head.next;
      } else if (isWithin) {
        next = head.next;
      } else {
        // No frame in between, but perhaps a hole starts: its end is posted, its start is not.
        next = Math.min(at, this.headUpTo(at - 1)?.next ?? next);
        if (next < at) break;
      }
      if (isWithin || cut.size >= maxBytes || performance.now() > end) break;
      head = this.#headOf(next, head);
    }
    return cut.part(from, next);
  }

  /**
   * The block for a part, valid until the next call. Blocks for streams with a filter are cached: several may want them. An
   * unfiltered part is read once for each front.
   */
  #blockFor(head: Head, filter: Filter | null): Block | undefined {
    if (filter || this.#cached.has(head.first)) return this.block(head);
    return this.#read(head, this.#scratch);
  }

  /**
   * The CRC is that of the compressed row, which makes it cheap to check. The head is that of
   * the same moment: nothing is written between two statements.
   */
  #read(head: Head, memory?: ArrayBuffer): Block | undefined {
    const { packed, blocks } = this.#tables;
    if (head.crc !== undefined) {
      const row = packed.getBinaryFast(head.first);
      if (!row) return undefined;
      head.check(row);
    }
    const stored = blocks.getBinaryFast(head.first);
    return stored && new Block(stored, memory);
  }

  /** The head of the block that has frame `seq`; undefined when none has. */
  #headOf(seq: number, before: Head): Head | undefined {
    if (seq === before.next) {
      const stored = this.#tables.heads.getBinaryFast(seq);
      return stored && new Head(stored);
    }
    const head = this.headUpTo(seq);
    return head?.has(seq) ? head : undefined;
  }
}

/** Cuts frames into pieces of one write each. */
class Cut {
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

  /** Takes the matching frames of the block from `seq` on. @returns where it stopped: at the block's end, unless the part is full. */
  take(block: Block, seq: number): number {
    const { maxBytes } = this.#request;
    const { hasBroken } = block;
    const filter = this.#filter;
    let runStart = block.start(seq);
    let runEnd = runStart;
    let next = seq;
    for (; next < block.next && this.size < maxBytes; next++) {
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
      // Of everything a part is full, nearly always; of what a filter lets through it may be a line.
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
    // A small part is not to hold on to much memory.
    const isSmall = this.size < this.#bytes.length / 2;
    const bytes = isSmall ? Buffer.allocUnsafeSlow(this.size) : this.#bytes.subarray(0, this.size);
    if (isSmall) bytes.set(this.#bytes.subarray(0, this.size));
    return { bytes, pieces, first, firstIsGap, next, readMs: performance.now() - this.began };
  }
}
