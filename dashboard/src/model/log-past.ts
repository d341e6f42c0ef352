// Runs in tabs. Owns how a log asks the journal for what was before its first row, and behind its last.

import {
  ApiError,
  type DroverClient,
  type EventsPage,
  type EventsQuery,
} from '../../../src/client/index.js';
import { pastLines } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { type LogFilter, passesOf, queryOf } from './log-filter.js';

const PAGE = 500;
/** How often a page is asked for while the service says that it is to be asked for later. */
const MAX_TRIES = 10;

export interface PastPage {
  /** Those that pass, oldest first. */
  lines: Line[];
  /** Nothing comes beyond it. */
  isLast: boolean;
}

/** Where it goes on; a cursor goes with the query that it came from. */
interface Place {
  id: string | undefined;
  cursor: string | undefined;
}

export class LogPast {
  readonly #api: () => DroverClient;
  readonly #query: EventsQuery;
  readonly #passes: (line: Line) => boolean;
  #before: Place | undefined;
  #behind: Place | undefined;

  constructor(filter: LogFilter, api: () => DroverClient) {
    this.#api = api;
    this.#passes = passesOf(filter);
    this.#query = { ...queryOf(filter), limit: PAGE };
  }

  /** What comes before a line: the page next to it, then the one beyond that, until {@link forgetBefore}. */
  async before(id: string | undefined, signal: AbortSignal): Promise<PastPage> {
    this.#before ??= { id, cursor: undefined };
    const place = this.#before;
    const { lines, isLast } = await this.#page(
      place,
      { order: 'newest', before: place.id },
      signal,
    );
    return { lines: lines.reverse(), isLast };
  }

  /** The first row is another than that up to which was asked. */
  forgetBefore(): void {
    this.#before = undefined;
  }

  /** The same with what comes behind a line; undefined for everything. */
  async behind(id: string | undefined, signal: AbortSignal): Promise<PastPage> {
    this.#behind ??= { id, cursor: undefined };
    const place = this.#behind;
    return this.#page(place, { order: 'oldest', after: place.id }, signal);
  }

  forgetBehind(): void {
    this.#behind = undefined;
  }

  /** The next page from this place on, in the order of the page. */
  async #page(place: Place, where: EventsQuery, signal: AbortSignal): Promise<PastPage> {
    const { events, cursor } = await this.#ask({ ...where, cursor: place.cursor }, signal);
    place.cursor = cursor ?? undefined;
    return { lines: pastLines(events).filter(this.#passes), isLast: cursor === null };
  }

  /** Again when the service says that it is to be asked later: many search there. */
  async #ask(where: EventsQuery, signal: AbortSignal): Promise<EventsPage> {
    for (let tries = 1; ; tries++) {
      try {
        const page = await this.#api().events({ ...this.#query, ...where, signal });
        signal.throwIfAborted();
        return page;
      } catch (thrown) {
        const wait = thrown instanceof ApiError ? thrown.retryAfterMs : undefined;
        if (wait === undefined || tries === MAX_TRIES) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, wait));
        signal.throwIfAborted();
      }
    }
  }
}
