// The pages of `GET /api/events`: which frames a page has, and their JSON.

import { KINDS } from '../shared/contract/event-kinds.js';
import type { Page, PageRequest } from '../shared/contract/journal-messages.js';
import type { Filter } from '../shared/stream/filter.js';
import { eventId, frameData, frameId, gapJson } from '../shared/stream/frame.js';
import type { Block } from './block.js';
import { candidates, Found, limits, type QueryParts, type Search } from './event-search.js';
import { Slices } from './slices.js';

/**
 * Longest search for one page, in ms: then the page ends where it is, with a cursor. Shorter when something was found: somebody
 * waits to see it.
 */
const SEARCH_MS = 1500;
const FOUND_MS = 400;

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
  const began = performance.now();
  const slices = new Slices(parts);
  for (const done of candidates(parts, search, found)) {
    const most = found.hasEvents ? FOUND_MS : SEARCH_MS;
    if (found.isFull || performance.now() - began > most) return found.page(done);
    if (slices.isOver) await slices.turn();
  }
  return found.page(found.isFull ? found.last : null);
}

/** The gap when events after the client's position have been removed since: a page declares it as a stream does. */
function forgottenOf({ reader, epoch }: QueryParts, request: PageRequest): Gap | undefined {
  const { order, afterSeq, beforeSeq } = request;
  const oldest = reader.oldest()?.first ?? 0;
  const next = Math.min(oldest, beforeSeq ?? oldest);
  if (order !== 'oldest' || !afterSeq || next <= afterSeq + 1) return undefined;
  return { from: eventId(epoch, afterSeq + 1), to: eventId(epoch, next - 1), last: next - 1 };
}

interface Gap {
  from: string;
  to: string;
  last: number;
}

/** The events of a page so far. */
class Collected extends Found<PageRequest> {
  readonly #epoch: string;
  readonly #events: string[] = [];
  #bytes = 0;
  /** Sequence number of the last event. */
  last = 0;
  /** Whether it has more than gaps. */
  hasEvents = false;

  constructor(search: Search<PageRequest>, epoch: string) {
    super(search);
    this.#epoch = epoch;
  }

  get isFull(): boolean {
    const { limit, maxBytes } = this.search.request;
    return this.#events.length >= limit || this.#bytes >= maxBytes;
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
    if (!this.matches(block, seq)) return false;
    const isBroken = block.hasBroken && block.isBroken(seq);
    const text = block.ownText(seq);
    const kind = block.kind(seq);
    const { id, json } = isBroken ? block.gap(seq) : { id: frameId(text), json: frameData(text) };
    const event = isBroken ? 'gap' : KINDS[kind];
    const stamp = this.#stamp(block.time(seq), seq);
    const shown = `${stamp}{"id":"${id}","event":"${event}","data":${json}}`;
    this.#events.push(shown);
    this.#bytes += shown.length;
    if (event !== 'gap') this.hasEvents = true;
    this.last = seq;
    return this.isFull;
  }

  page(cursor: number | null): Page {
    const { lines, order } = this.search.request;
    const { first, end } = this.search;
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
    return this.search.request.isStamped ? `${ms} ${seq} ` : '';
  }

  #json(cursor: number | null): string {
    const next = cursor === null ? 'null' : JSON.stringify(eventId(this.#epoch, cursor));
    return `{"events":[${this.#events.join(',')}],"cursor":${next}}`;
  }
}
