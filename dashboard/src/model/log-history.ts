import { ApiError, type EventsPage, type EventsQuery } from '../../../src/client/index.js';
import type { Line } from '../hub/messages.js';
import type { Bounds } from '../range/range.js';
import { t } from '../texts/text.js';
import type { EventSource } from './event-source.js';
import { historyLines } from './history-lines.js';
import { type LogFilter, queryOf } from './log-filter.js';

const PAGE = 500;
/** Bound of the retries when the service is busy (`Retry-After`). */
const MAX_TRIES = 10;

export interface HistoryPage {
  /** The lines that pass the filter, oldest first. */
  lines: Line[];
  /** There are no more pages. */
  isLast: boolean;
}

/**
 * Where a query begins: at an id, a time, or an end of the range. A cursor is valid only for the query that returned
 * it.
 */
interface PageCursor {
  id: string | number | undefined;
  cursor: string | undefined;
}

/** Reads the journal page by page, before the first row of a log and after its last. */
export class LogHistory {
  readonly #source: () => Pick<EventSource, 'events'>;
  readonly #say: (text: string) => void;
  readonly #query: EventsQuery;
  readonly #range: Bounds;
  #before: PageCursor | undefined;
  #after: PageCursor | undefined;
  /** Nodes of a cluster that did not answer and were reported: each is reported once. */
  readonly #missing = new Set<string>();

  constructor(
    filter: LogFilter,
    source: () => Pick<EventSource, 'events'>,
    say: (text: string) => void,
  ) {
    this.#source = source;
    this.#say = say;
    this.#query = { ...queryOf(filter), limit: PAGE };
    this.#range = filter.range ?? { fromMs: undefined, toMs: undefined };
  }

  /** The page before the line `id` (undefined: before the end of the range); each further call returns the page before that, until {@link resetBefore}. */
  async before(id: string | undefined, signal: AbortSignal): Promise<HistoryPage> {
    this.#before ??= { id, cursor: undefined };
    const cursor = this.#before;
    const { fromMs, toMs } = this.#range;
    const where: EventsQuery = { order: 'newest', before: cursor.id ?? toMs, after: fromMs };
    const { lines, isLast } = await this.#page(cursor, where, signal);
    return { lines: lines.reverse(), isLast };
  }

  /** Forgets the position before the first row, because that row has changed. */
  resetBefore(): void {
    this.#before = undefined;
  }

  /**
   * The page after the line `id`, or from a time on (undefined: from the beginning); each further call returns the next
   * page, until {@link resetAfter}.
   */
  async after(id: string | number | undefined, signal: AbortSignal): Promise<HistoryPage> {
    this.#after ??= { id, cursor: undefined };
    const cursor = this.#after;
    const { fromMs, toMs } = this.#range;
    return this.#page(
      cursor,
      { order: 'oldest', after: cursor.id ?? fromMs, before: toMs },
      signal,
    );
  }

  resetAfter(): void {
    this.#after = undefined;
  }

  /** The next page from this position, in the order of the query. */
  async #page(at: PageCursor, where: EventsQuery, signal: AbortSignal): Promise<HistoryPage> {
    const query = { ...where, cursor: at.cursor };
    const { events, cursor, missing = [] } = await this.#request(query, signal);
    at.cursor = cursor ?? undefined;
    for (const { node, reason } of missing) {
      if (this.#missing.has(node)) continue;
      this.#missing.add(node);
      this.#say(t('log.missingNode', { node, reason }));
    }
    return { lines: historyLines(events), isLast: cursor === null };
  }

  /** Retries while the service is busy with other searches. */
  async #request(where: EventsQuery, signal: AbortSignal): Promise<EventsPage> {
    for (let tries = 1; ; tries++) {
      try {
        const page = await this.#source().events({ ...this.#query, ...where, signal });
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
