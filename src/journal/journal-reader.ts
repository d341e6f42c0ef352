// Runs in the journal thread. Owns a cache of recently read blocks. Reads frames by number for streams that resume, and block
// by block for searches.

import type { ReplayPart, ReplayRequest } from '../shared/contract/journal-messages.js';
import type { Filter } from '../shared/stream/filter.js';
import { KIND_CODE } from '../shared/stream/frame.js';
import { Cut } from '../shared/stream/replay-cut.js';
import { Block, Head } from './block.js';
import { isPosted, PostingIterator } from './posting-iterator.js';
import type { Recorder } from './recorder.js';
import type { Tables } from './tables.js';

/** Cached blocks, of some 70 KB each. */
const MAX_CACHED = 64;
/** Memory for a block that is not cached; a larger one gets its own. To allocate it for each block is most of the work of a search. */
const SCRATCH_BYTES = 256 * 1024;
/** Heads that are read at a time. */
const HEADS = 64;
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

  /**
   * Reads a block for a search without caching it: a search reads many blocks, each once. @param memory of
   * {@link memory}; the block is valid until it is used again. @throws Error when it is damaged.
   */
  blockIn(memory: ArrayBuffer, head: Head): Block | undefined {
    return this.#cached.get(head.first) ?? this.#read(head, memory);
  }

  /** Memory for the blocks of a search, one at a time. */
  memory(): ArrayBuffer {
    return new ArrayBuffer(SCRATCH_BYTES);
  }

  /**
   * The heads of the blocks that begin at `seq` or before, the newest first. They are read ahead: only the newest block of all
   * can change, and it is the first.
   */
  *headsDown(seq: number): Generator<Head> {
    for (let start = seq; ; ) {
      const range = { start, reverse: true, limit: HEADS };
      const heads = [...this.#tables.heads.getRange(range)].map(({ value }) => new Head(value));
      yield* heads;
      const last = heads.at(-1);
      if (!last || heads.length < HEADS) return;
      start = last.first - 1;
    }
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
        // The postings have no frame in between, but a hole may start there: they hold only its end.
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
