import type { RingReader, Slice } from '../shared/memory/ring-reader.js';
import type { Filter } from '../shared/stream/filter.js';
import type { GatherArena } from './gather-arena.js';

/** Most frames that one call scans, so that a narrow filter cannot block the front. */
const MAX_SCANNED = 8192;

/**
 * Subscribers with the same filter. The next bytes for a cursor are found once and go to every member at that cursor. They
 * are valid until the next call for any group, and while the ring is protected.
 */
export class SubscriberGroup {
  readonly filter: Filter | null;
  members = 0;
  /** Frames that the last {@link next} returned. */
  frames = 0;
  readonly #reader: RingReader;
  readonly #arena: GatherArena;
  // The last result and its arguments. Members move in step, so one is enough.
  #from = -1;
  #end = -1;
  #maxBytes = -1;
  #round = -1;
  #slice: Slice = { bytes: new Uint8Array(), next: 0 };

  constructor(reader: RingReader, filter: Filter | null, arena: GatherArena) {
    this.#reader = reader;
    this.#arena = arena;
    this.filter = filter;
  }

  /**
   * The next bytes for a cursor at `from`, which must be protected and below `head`: whole frames of at most `maxBytes`, or
   * one larger frame, possibly none. `next` is the new cursor.
   */
  next(from: number, head: number, maxBytes: number): Slice {
    const end = this.filter ? Math.min(head, this.filter.known) : head;
    if (
      from !== this.#from ||
      end !== this.#end ||
      maxBytes !== this.#maxBytes ||
      this.#round !== this.#arena.round
    ) {
      this.#slice = this.filter
        ? this.#gather(this.filter, from, end, maxBytes)
        : this.#reader.slice(from, end, maxBytes);
      if (!this.filter) this.frames = this.#slice.next - from;
      this.#from = from;
      this.#end = end;
      this.#maxBytes = maxBytes;
      this.#round = this.#arena.round;
    }
    return this.#slice;
  }

  #gather(filter: Filter, from: number, before: number, maxBytes: number): Slice {
    const reader = this.#reader;
    const end = Math.min(before, from + MAX_SCANNED);
    let seq = from;
    this.frames = 0;
    while (seq < end && !filter.matches(reader, seq)) seq += 1;
    if (seq >= end) return { bytes: new Uint8Array(), next: Math.max(from, end) };
    // A frame that is larger than that is sent alone, directly from the ring.
    if (reader.length(seq) > maxBytes) {
      this.frames = 1;
      return { bytes: reader.frame(seq), next: seq + 1 };
    }
    const room = this.#arena.room(maxBytes);
    let size = 0;
    for (; seq < end; seq++) {
      if (!filter.matches(reader, seq)) continue;
      if (size + reader.length(seq) > maxBytes) break;
      size += reader.copy(seq, room, size);
      this.frames += 1;
    }
    this.#arena.keep(size);
    return { bytes: room.subarray(0, size), next: seq };
  }
}
