import type { RingReader, Slice } from '../../shared/memory/ring-reader.js';
import type { Filter } from '../../shared/stream/filter.js';
import type { IndexedFilter } from './filter-index.js';
import type { GatherArena } from './gather-arena.js';

/** Most frames that one call scans, so that a narrow filter cannot block the front. */
const MAX_SCANNED = 8192;
/** Longest time that a query reads texts in one call, in ms. */
const MAX_QUERY_MS = 2;
const NO_BYTES = new Uint8Array();

/**
 * Subscribers with the same filter. The next bytes for a cursor are found once and go to every member at that cursor. They
 * are valid until the next call for any group, and while the ring is protected.
 */
export class SubscriberGroup {
  readonly filter: Filter | null;
  members = 0;
  /** Its filter in the index, which then knows the new frames that match; undefined if each look scans the ring. */
  indexed: IndexedFilter | undefined;
  /** Frames that the last {@link next} returned. */
  frames = 0;
  /** The verdicts of its query. */
  readonly #verdicts: Verdicts | undefined;
  readonly #reader: RingReader;
  readonly #arena: GatherArena;
  // The last result and its arguments. Members move in step, so one is enough.
  #from = -1;
  #end = -1;
  #maxBytes = -1;
  #round = -1;
  #slice: Slice = { bytes: NO_BYTES, next: 0 };

  constructor(reader: RingReader, filter: Filter | null, arena: GatherArena) {
    this.#reader = reader;
    this.#arena = arena;
    this.filter = filter;
    if (filter?.hasQuery) this.#verdicts = new Verdicts((seq) => filter.matches(reader, seq));
  }

  /**
   * The next bytes for a cursor at `from`, which must be protected and below `head`: whole frames of at most `maxBytes`, or
   * one larger frame, possibly none. `next` is the new cursor.
   */
  next(from: number, head: number, maxBytes: number): Slice {
    const { filter } = this;
    const indexed = this.indexed?.covers(from, head) ? this.indexed : undefined;
    const end = Math.min(head, indexed ? indexed.examined : (filter?.known ?? head));
    if (
      from !== this.#from ||
      end !== this.#end ||
      maxBytes !== this.#maxBytes ||
      this.#round !== this.#arena.round
    ) {
      if (indexed) this.#slice = this.#take(indexed, from, end, maxBytes);
      else if (filter) this.#slice = this.#gather(filter, from, end, maxBytes);
      else {
        this.#slice = this.#reader.slice(from, end, maxBytes);
        this.frames = this.#slice.next - from;
      }
      this.#from = from;
      this.#end = end;
      this.#maxBytes = maxBytes;
      this.#round = this.#arena.round;
    }
    return this.#slice;
  }

  /** Sequence number of the next frame that the index examines for it; 0 if it is not in the index. */
  get examined(): number {
    return this.indexed?.examined ?? 0;
  }

  /** Whether a member at this cursor gets nothing until the index finds a frame. */
  isWaiting(cursor: number): boolean {
    return cursor === this.indexed?.examined;
  }

  /** Takes matching frames from the index. */
  #take(indexed: IndexedFilter, from: number, end: number, maxBytes: number): Slice {
    const reader = this.#reader;
    this.frames = 0;
    let hit = indexed.firstHit(from);
    if (hit === 0) return { bytes: NO_BYTES, next: Math.max(from, end) };
    const first = indexed.seqOf(hit);
    const isOnly = indexed.nextHit(hit) === 0;
    if (isOnly || reader.length(first) > maxBytes) {
      this.frames = 1;
      return { bytes: reader.frame(first), next: isOnly ? end : first + 1 };
    }
    const room = this.#arena.room(maxBytes);
    let size = 0;
    let next = end;
    for (; hit !== 0; hit = indexed.nextHit(hit)) {
      const seq = indexed.seqOf(hit);
      if (size + reader.length(seq) > maxBytes) {
        next = seq;
        break;
      }
      size += reader.copy(seq, room, size);
      this.frames += 1;
    }
    this.#arena.keep(size);
    return { bytes: room.subarray(0, size), next };
  }

  /** Finds matching frames by a scan of the ring. */
  #gather(filter: Filter, from: number, before: number, maxBytes: number): Slice {
    const reader = this.#reader;
    const verdicts = this.#verdicts;
    const late = verdicts ? performance.now() + MAX_QUERY_MS : Number.POSITIVE_INFINITY;
    // Takes at least one frame, so that the cursor advances.
    const isLate = (at: number): boolean =>
      verdicts !== undefined && at > from && performance.now() > late;
    const passes = (at: number): boolean => verdicts?.of(at) ?? filter.matches(reader, at);
    const end = Math.min(before, from + MAX_SCANNED);
    let seq = from;
    this.frames = 0;
    while (seq < end && !isLate(seq) && !passes(seq)) seq += 1;
    if (seq >= end || isLate(seq)) return { bytes: NO_BYTES, next: Math.max(from, seq) };
    // A frame that is larger than that is sent alone, directly from the ring.
    if (reader.length(seq) > maxBytes) {
      this.frames = 1;
      return { bytes: reader.frame(seq), next: seq + 1 };
    }
    const room = this.#arena.room(maxBytes);
    let size = 0;
    for (; seq < end && !isLate(seq); seq++) {
      if (!passes(seq)) continue;
      if (size + reader.length(seq) > maxBytes) break;
      size += reader.copy(seq, room, size);
      this.frames += 1;
    }
    this.#arena.keep(size);
    return { bytes: room.subarray(0, size), next: seq };
  }
}

/** Frames whose verdict is remembered: 16 KiB for each query. An older frame is judged once more. */
export const MAX_VERDICTS = 16_384;

const UNKNOWN = 0;
const NO = 1;
const YES = 2;

/** The verdicts of a query about the newest frames, which its subscribers share at their different cursors. */
export class Verdicts {
  readonly #judge: (seq: number) => boolean;
  readonly #verdicts = new Uint8Array(MAX_VERDICTS);
  /** The frame after the newest one that was judged. */
  #end = 0;

  constructor(judge: (seq: number) => boolean) {
    this.#judge = judge;
  }

  of(seq: number): boolean {
    if (seq < this.#end - MAX_VERDICTS) return this.#judge(seq);
    if (seq >= this.#end) this.#moveTo(seq + 1);
    const place = seq % MAX_VERDICTS;
    const known = this.#verdicts[place];
    if (known !== UNKNOWN) return known === YES;
    const is = this.#judge(seq);
    this.#verdicts[place] = is ? YES : NO;
    return is;
  }

  /** Forgets the frames whose places newer ones take. */
  #moveTo(end: number): void {
    if (end - this.#end >= MAX_VERDICTS) this.#verdicts.fill(UNKNOWN);
    else for (let seq = this.#end; seq < end; seq++) this.#verdicts[seq % MAX_VERDICTS] = UNKNOWN;
    this.#end = end;
  }
}
