// The pages of `GET /api/events`: which frames a page has, and their JSON.

import { KINDS } from '../shared/contract/event-kinds.js';
import type { Page, PageRequest } from '../shared/contract/journal-messages.js';
import type { Filter } from '../shared/stream/filter.js';
import { eventId, frameData, frameId, gapJson } from '../shared/stream/frame.js';
import { type Block, CLOCK_SLACK_MS, type Head } from './block.js';
import type { JournalReader } from './journal-reader.js';
import { isPosted, NOBODY, placesIn } from './posting-iterator.js';
import type { Recorder } from './recorder.js';
import { type Readable, Slices } from './slices.js';
import { type NameKey, SEGMENT, type Tables } from './tables.js';
import { Needle } from './text-search.js';

/** Longest search for one page, in ms: then the page ends where it is, with a cursor. */
const SEARCH_MS = 1500;
/** Postings that are read between two checks of the time. */
const YIELD_EVERY = 256;
/** Frames, with a query: it reads their texts. */
const YIELD_QUERY = 64;

export interface QueryParts extends Readable {
  tables: Tables;
  reader: JournalReader;
  epoch: string;
  /** Postings that are not in the tables yet. */
  unposted: Recorder['unposted'];
}

/** A request, parsed. */
interface Search {
  request: PageRequest;
  filter: Filter | null;
  /** Frames from `first` to before `end`. */
  first: number;
  end: number;
  needle: Needle | undefined;
}

/** Whether an index answers the request, or every frame matches; otherwise everything may have to be read. */
export function isIndexed({ text }: PageRequest, filter: Filter | null): boolean {
  return text === null && (filter === null || (isPosted(filter.sessions) && !filter.hasQuery));
}

/** One page. Yields to other work while it searches. */
export async function page(
  parts: QueryParts,
  request: PageRequest,
  filter: Filter | null,
): Promise<Page> {
  const search = limits(parts, request, filter);
  const found = new Collected(search, parts.epoch);
  const forgotten = forgottenOf(parts, request);
  if (forgotten) found.missing(forgotten);
  if (search.first >= search.end) return found.page(null);
  if (found.isFull) return found.page(found.last);
  const end = performance.now() + SEARCH_MS;
  const slices = new Slices(parts);
  for (const done of candidates(parts, search, found)) {
    if (found.isFull || performance.now() > end) return found.page(done);
    if (slices.isOver) await slices.turn();
  }
  return found.page(found.isFull ? found.last : null);
}

function limits({ reader }: QueryParts, request: PageRequest, filter: Filter | null): Search {
  const { text } = request;
  const needle = text === null ? undefined : new Needle(text);
  return { request, filter, ...rangeOf(reader, request), needle };
}

/** Every frame within these bounds is from `first` on and before `end`; others may be too. */
export function rangeOf(
  reader: JournalReader,
  {
    afterSeq,
    beforeSeq,
    afterMs,
    beforeMs,
  }: Pick<PageRequest, 'afterSeq' | 'beforeSeq' | 'afterMs' | 'beforeMs'>,
): { first: number; end: number } {
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
  return { first, end };
}

/** The gap when events after the client's position have been removed since: a page declares it as a stream does. */
function forgottenOf({ reader, epoch }: QueryParts, request: PageRequest): Gap | undefined {
  const { order, afterSeq, beforeSeq, text } = request;
  const oldest = reader.oldest()?.first ?? 0;
  const next = Math.min(oldest, beforeSeq ?? oldest);
  if (order !== 'oldest' || text !== null || !afterSeq || next <= afterSeq + 1) return undefined;
  return { from: eventId(epoch, afterSeq + 1), to: eventId(epoch, next - 1), last: next - 1 };
}

interface Gap {
  from: string;
  to: string;
  last: number;
}

/** Scans everything that may match, in the requested order, and yields its position from time to time. */
function candidates(parts: QueryParts, search: Search, found: Collected): Generator<number> {
  const { filter, request } = search;
  const sessions = filter?.sessions;
  if (isPosted(sessions)) return posted(parts, search, found, sessions);
  return request.order === 'newest' ? scanDown(parts, search, found) : scanUp(parts, search, found);
}

function* scanDown(
  { reader }: QueryParts,
  { first, end, filter }: Search,
  found: Collected,
): Generator<number> {
  const hasQuery = filter?.hasQuery ?? false;
  for (let at = end; at > first; ) {
    const head = reader.headUpTo(at - 1);
    if (!head || head.next <= first) return;
    const block = found.mayHave(head) ? reader.block(head) : undefined;
    if (block && found.mayHaveText(block)) {
      for (let seq = Math.min(at, block.next) - 1; seq >= Math.max(first, block.first); seq--) {
        if (found.take(block, seq)) return yield seq;
        if (hasQuery && seq % YIELD_QUERY === 0) yield seq;
      }
    }
    at = head.first;
    yield at;
  }
}

function* scanUp(
  { reader }: QueryParts,
  { first, end, filter }: Search,
  found: Collected,
): Generator<number> {
  const hasQuery = filter?.hasQuery ?? false;
  for (let at = first; at < end; ) {
    const head = reader.headFrom(at);
    if (!head || head.first >= end) return;
    const block = found.mayHave(head) ? reader.block(head) : undefined;
    if (block && found.mayHaveText(block)) {
      for (let seq = Math.max(at, block.first); seq < Math.min(end, block.next); seq++) {
        if (found.take(block, seq)) return yield seq;
        if (hasQuery && seq % YIELD_QUERY === 0) yield seq;
      }
    }
    at = head.next;
    yield at - 1;
  }
}

/** Steps through the frames of these sessions by their postings. */
function* posted(
  parts: QueryParts,
  search: Search,
  found: Collected,
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
  { tables, unposted }: Pick<QueryParts, 'tables' | 'unposted'>,
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

/** The events of a page so far. */
class Collected {
  readonly #search: Search;
  readonly #epoch: string;
  readonly #events: string[] = [];
  #bytes = 0;
  /** Sequence number of the last event. */
  last = 0;

  constructor(search: Search, epoch: string) {
    this.#search = search;
    this.#epoch = epoch;
  }

  get isFull(): boolean {
    const { limit, maxBytes } = this.#search.request;
    return this.#events.length >= limit || this.#bytes >= maxBytes;
  }

  /** Whether a block can have a matching frame. */
  mayHave(block: Head): boolean {
    const { request, filter } = this.#search;
    if (request.afterMs !== null && block.highest < request.afterMs) return false;
    if (request.beforeMs !== null && block.lowest >= request.beforeMs) return false;
    return filter?.mayMatch(block.kinds, block.levels) ?? true;
  }

  mayHaveText(block: Block): boolean {
    return this.#search.needle?.mayBeIn(block) ?? true;
  }

  /** Adds a gap for frames that were removed. */
  missing({ from, to, last }: Gap): void {
    this.#events.push(
      `${this.#stamp(0, last)}{"id":"${to}","event":"gap","data":${gapJson(from, to, null)}}`,
    );
    this.last = last;
  }

  /** Adds the frame when it matches. @returns whether the page is full. */
  take(block: Block, seq: number): boolean {
    const { request, filter, needle } = this.#search;
    const { afterMs, beforeMs } = request;
    if (filter && !filter.matches(block, seq)) return false;
    if (afterMs !== null && block.time(seq) < afterMs) return false;
    if (beforeMs !== null && block.time(seq) >= beforeMs) return false;
    const isBroken = block.hasBroken && block.isBroken(seq);
    const text = block.text(seq);
    const kind = block.kind(seq);
    if (needle && (isBroken || !needle.isIn(text, kind))) return false;
    const { id, json } = isBroken ? block.gap(seq) : { id: frameId(text), json: frameData(text) };
    const event = isBroken ? 'gap' : KINDS[kind];
    const stamp = this.#stamp(block.time(seq), seq);
    const shown = `${stamp}{"id":"${id}","event":"${event}","data":${json}}`;
    this.#events.push(shown);
    this.#bytes += shown.length;
    this.last = seq;
    return this.isFull;
  }

  page(cursor: number | null): Page {
    const { lines, order } = this.#search.request;
    const { first, end } = this.#search;
    const isEnd = cursor !== null && (order === 'newest' ? cursor <= first : cursor >= end - 1);
    const following = isEnd ? null : cursor;
    const text = lines ? this.#events.map((json) => `${json}\n`).join('') : this.#json(following);
    return {
      body: Buffer.from(text),
      count: this.#events.length,
      cursor: following,
      end,
    };
  }

  #stamp(ms: number, seq: number): string {
    return this.#search.request.isStamped ? `${ms} ${seq} ` : '';
  }

  #json(cursor: number | null): string {
    const next = cursor === null ? 'null' : JSON.stringify(eventId(this.#epoch, cursor));
    return `{"events":[${this.#events.join(',')}],"cursor":${next}}`;
  }
}
