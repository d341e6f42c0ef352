// Searches the journal for what happened beside incidents. Pure but for the request, so that a test can answer it.

import type { EventsPage, EventsQuery, StreamEvent } from '../../../src/client/index.js';
import type { Range } from './fitted-range.js';

/** Lines that a search holds, the newest. */
export const MAX_LINES = 1000;
/** Bound of the pages of one search: a page ends early where there is much to search. */
const MAX_PAGES = 200;
/** An event of another node, or one that the journal has just not written, comes this late at most, in ms. */
const LATE_MS = 10_000;

export interface Found {
  /** In any order. */
  events: readonly StreamEvent[];
  /** Whether the range was searched to its beginning. */
  isWhole: boolean;
  /** Whether there are more than are held. */
  isCut: boolean;
  /** Nodes that did not answer. */
  missing: readonly string[];
}

type Read = (query: EventsQuery & { signal: AbortSignal }) => Promise<EventsPage>;

/** Keeps what was found: a range that has moved is searched only where it is new. */
export class BesideSearch {
  readonly #read: Read;
  #events = new Map<string, StreamEvent>();
  /** What has been searched completely. */
  #searched: Range | undefined;
  #isCut = false;

  constructor(read: Read) {
    this.#read = read;
  }

  /** @param show is called with what is known so far, page by page. @throws ApiError */
  async extend(range: Range, signal: AbortSignal, show: (found: Found) => void): Promise<Found> {
    const { after, before } = range;
    const known = this.#searched;
    const isNext = known && known.after <= after && known.before >= after && known.before <= before;
    if (!isNext) {
      this.#events.clear();
      this.#searched = undefined;
      this.#isCut = false;
    }
    this.#forget(after);
    const from = isNext ? Math.max(after, known.before - LATE_MS) : after;
    const query = {
      after: Math.floor(from),
      before: Math.ceil(before),
      limit: MAX_LINES,
      signal,
    };
    let page = await this.#read(query);
    const missing = new Set<string>();
    for (let read = 1; ; read++) {
      for (const event of page.events) this.#events.set(event.id ?? '', event);
      for (const { node } of page.missing ?? []) missing.add(node);
      const isDone = page.cursor === null;
      if (isDone || read === MAX_PAGES || this.#events.size >= MAX_LINES) break;
      show({
        events: [...this.#events.values()],
        isWhole: false,
        isCut: false,
        missing: [...missing],
      });
      page = await this.#read({ ...query, cursor: page.cursor as string });
    }
    this.#isCut ||= page.cursor !== null;
    this.#bound();
    // Nodes that did not answer are asked again.
    if (missing.size === 0) this.#searched = { after, before };
    const events = [...this.#events.values()];
    return { events, isWhole: !this.#isCut, isCut: this.#isCut, missing: [...missing] };
  }

  #forget(after: number): void {
    for (const [id, event] of this.#events) if (timeOf(event) < after) this.#events.delete(id);
  }

  #bound(): void {
    const rest = this.#events.size - MAX_LINES;
    if (rest <= 0) return;
    const oldest = [...this.#events].sort(([, a], [, b]) => timeOf(a) - timeOf(b)).slice(0, rest);
    for (const [id] of oldest) this.#events.delete(id);
    this.#isCut = true;
  }
}

/** What all these searches find. @throws ApiError */
export async function extendAll(
  searches: readonly BesideSearch[],
  range: Range,
  signal: AbortSignal,
  show: (found: Found) => void,
): Promise<Found> {
  const parts: Found[] = [];
  const whole = (): Found => ({
    events: parts.flatMap(({ events }) => events),
    isWhole: parts.every(({ isWhole }) => isWhole),
    isCut: parts.some(({ isCut }) => isCut),
    missing: [...new Set(parts.flatMap(({ missing }) => missing))],
  });
  const put = (at: number, part: Found): void => {
    parts[at] = part;
    // Earlier results stay visible until the search has its first answer.
    if (searches.every((_, other) => parts[other])) show(whole());
  };
  await Promise.all(
    searches.map(async (one, at) =>
      put(at, await one.extend(range, signal, (part) => put(at, part))),
    ),
  );
  return whole();
}

function timeOf(event: StreamEvent): number {
  return event.event === 'log' || event.event === 'activity' ? event.data.timestamp_ms : 0;
}
