// Finds the events of a request in the journal: those that match, in the order that is asked for.

import type { PageRequest } from '../shared/contract/journal-messages.js';
import type { Regex } from '../shared/query/regex.js';
import type { Filter } from '../shared/stream/filter.js';
import { KIND_CODE } from '../shared/stream/frame.js';
import { type Block, CLOCK_SLACK_MS, type Head } from './block.js';
import type { JournalReader } from './journal-reader.js';
import { isPosted, NOBODY, placesIn } from './posting-iterator.js';
import type { Recorder } from './recorder.js';
import type { Readable } from './slices.js';
import { type NameKey, SEGMENT, type Tables } from './tables.js';
import { mayMatch, Piece, type Required, Texts } from './text-search.js';

/** Postings that are read between two checks of the time. */
const YIELD_EVERY = 256;
/** Frames that are read between two checks of the time when a query has to read their texts. */
const YIELD_QUERY = 64;

export interface QueryParts extends Readable {
  tables: Tables;
  reader: JournalReader;
  epoch: string;
  /** The recorder's postings that are not in the tables yet. */
  unposted: Recorder['unposted'];
}

/** The bounds of a search: a part of {@link PageRequest}. */
export type Wanted = Pick<PageRequest, 'order' | 'afterSeq' | 'beforeSeq' | 'afterMs' | 'beforeMs'>;

/** A request, parsed. */
export interface Search<W extends Wanted = Wanted> {
  request: W;
  filter: Filter | null;
  /** Frames from `first` to before `end`. */
  first: number;
  end: number;
  /**
   * Texts that every matching frame has, gaps excepted. The longest come first, because the fewest frames have them.
   */
  required: readonly Required[];
  /** Expressions that the text of every matching line matches. */
  regexes: readonly Regex[];
}

/** Whether an index answers the request, or every frame matches; otherwise everything may have to be read. */
export function isIndexed(filter: Filter | null): boolean {
  return filter === null || (isPosted(filter.sessions) && !filter.hasQuery);
}

/** The range of frames that holds all matches. */
export function limits<W extends Wanted>(
  { reader }: QueryParts,
  request: W,
  filter: Filter | null,
): Search<W> {
  const { afterSeq, beforeSeq, afterMs, beforeMs } = request;
  const oldest = reader.oldest();
  const newest = reader.newest();
  let first = Math.max(oldest?.first ?? 0, afterSeq === null ? 0 : afterSeq + 1);
  let end = Math.min(newest?.next ?? 0, beforeSeq ?? Number.POSITIVE_INFINITY);
  if (afterMs !== null) first = Math.max(first, reader.atTime(afterMs)?.first ?? end);
  if (beforeMs !== null) {
    const last = reader.atTime(beforeMs + CLOCK_SLACK_MS);
    // After a clock that was ahead there may be earlier times: then all heads are checked.
    if (last?.isTimely && newest?.isTimely) end = Math.min(end, last.next);
  }
  const texts = (filter?.texts ?? []).map((one) => new Texts(one));
  const pieces = (filter?.pieces ?? []).map((one) => new Piece(one));
  const required = [...texts.sort((a, b) => b.length - a.length), ...pieces];
  const regexes = filter?.regexes ?? [];
  return { request, filter, first, end, required, regexes };
}

/** Scans everything that may match, in the requested order, and yields its position from time to time. */
export function candidates(parts: QueryParts, search: Search, found: Found): Generator<number> {
  const { filter, request } = search;
  const sessions = filter?.sessions;
  if (isPosted(sessions)) return posted(parts, search, found, sessions);
  return request.order === 'newest' ? scanDown(parts, search, found) : scanUp(parts, search, found);
}

function* scanDown(
  { reader }: QueryParts,
  { first, end, filter }: Search,
  found: Found,
): Generator<number> {
  const yieldEvery = filter?.hasQuery ? YIELD_QUERY : Number.POSITIVE_INFINITY;
  const memory = reader.memory();
  let before = end;
  for (const head of reader.headsDown(end - 1)) {
    if (head.next <= first) return;
    const block = found.mayHave(head) ? reader.blockIn(memory, head) : undefined;
    const frames = block ? found.framesIn(block, first, before) : [];
    for (let at = frames.length - 1; block && at >= 0; at--) {
      const seq = frames[at] as number;
      if (found.take(block, seq)) return yield seq;
      if (at % yieldEvery === 0) yield seq;
    }
    before = head.first;
    yield before;
  }
}

function* scanUp(
  { reader }: QueryParts,
  { first, end, filter }: Search,
  found: Found,
): Generator<number> {
  const yieldEvery = filter?.hasQuery ? YIELD_QUERY : Number.POSITIVE_INFINITY;
  const memory = reader.memory();
  for (let next = first; next < end; ) {
    const head = reader.headFrom(next);
    if (!head || head.first >= end) return;
    const block = found.mayHave(head) ? reader.blockIn(memory, head) : undefined;
    const frames = block ? found.framesIn(block, next, end) : [];
    for (let at = 0; block && at < frames.length; at++) {
      const seq = frames[at] as number;
      if (found.take(block, seq)) return yield seq;
      if (at % yieldEvery === yieldEvery - 1) yield seq;
    }
    next = head.next;
    yield next - 1;
  }
}

/** Steps through the frames of these sessions by their postings. */
function* posted(
  parts: QueryParts,
  search: Search,
  found: Found,
  sessions: readonly NameKey[],
): Generator<number> {
  const { reader } = parts;
  const { first, end } = search;
  const isDown = search.request.order === 'newest';
  const yieldEvery = search.filter?.hasQuery ? YIELD_QUERY : YIELD_EVERY;
  const segments = segmentsOf(parts, search, [...sessions, NOBODY]);
  if (isDown) segments.reverse();
  for (const { segment, places } of segments) {
    const frames = [...places()]
      .map((place) => segment + place)
      .filter((seq) => seq >= first && seq < end)
      .sort((one, other) => (isDown ? other - one : one - other));
    let head: Head | undefined;
    let block: Block | undefined;
    for (const [at, seq] of frames.entries()) {
      if (!head?.has(seq)) {
        head = reader.headUpTo(seq);
        block = head && found.mayHave(head) ? reader.block(head) : undefined;
      }
      if (block?.has(seq) && found.take(block, seq)) return yield seq;
      if (at % yieldEvery === yieldEvery - 1) yield seq;
    }
    yield isDown ? Math.max(segment, first) : Math.min(segment + SEGMENT, end) - 1;
  }
}

/** The segments of a search, ascending, with the positions of these sessions in them. */
export function segmentsOf(
  { tables, unposted }: QueryParts,
  { first, end }: Pick<Search, 'first' | 'end'>,
  sessions: readonly NameKey[],
): { segment: number; places: () => Iterable<number> }[] {
  const start = Math.floor(first / SEGMENT) * SEGMENT;
  const inTables = [...tables.segments.getKeys({ start, end })].map((segment) => ({
    segment,
    places: (): Iterable<number> => placesIn(tables, segment, sessions),
  }));
  const inMemory = unposted(sessions)
    .filter(({ segment }) => segment >= start && segment < end)
    .map(({ segment, places }) => ({ segment, places: () => places.flat() }));
  return [...inTables, ...inMemory];
}

/** The results of a search so far. */
export abstract class Found<W extends Wanted = Wanted> {
  protected readonly search: Search<W>;

  constructor(search: Search<W>) {
    this.search = search;
  }

  /** Adds the frame when it matches. @returns whether the search is over. */
  abstract take(block: Block, seq: number): boolean;

  /** Whether a block can have a matching frame. */
  mayHave(block: Head): boolean {
    const { request, filter } = this.search;
    if (request.afterMs !== null && block.highest < request.afterMs) return false;
    if (request.beforeMs !== null && block.lowest >= request.beforeMs) return false;
    return filter?.mayMatch(block.kinds, block.levels) ?? true;
  }

  /** The frames of a block from `first` to before `end` that can match, ascending. */
  framesIn(block: Block, first: number, end: number): readonly number[] {
    const from = Math.max(first, block.first);
    const to = Math.min(end, block.next);
    const frames = this.#candidates(block);
    const { regexes } = this.search;
    const found: number[] = [];
    // A plain loop, because it runs for every line of the journal when the search requires no text.
    const count = frames?.length ?? to - from;
    for (let at = 0; at < count; at++) {
      const seq = frames ? (frames[at] as number) : from + at;
      if (seq < from || seq >= to) continue;
      if (regexes.every((regex) => mayMatch(regex, block, seq))) found.push(seq);
    }
    return found;
  }

  /** Null stands for all frames of the block. */
  #candidates(block: Block): readonly number[] | null {
    const { required, filter } = this.search;
    // A gap passes every filter.
    if (block.hasKind(KIND_CODE.gap)) return null;
    if (filter && !filter.mayHaveNames(block)) return [];
    const [rarest, ...others] = required;
    if (!others.every((one) => one.mayBeIn(block))) return [];
    return rarest ? rarest.framesIn(block) : null;
  }

  /** Whether the frame matches. */
  protected matches(block: Block, seq: number): boolean {
    const { request, filter } = this.search;
    const { afterMs, beforeMs } = request;
    if (filter && !filter.matches(block, seq)) return false;
    if (afterMs !== null && block.time(seq) < afterMs) return false;
    return beforeMs === null || block.time(seq) < beforeMs;
  }
}
