// Imported by clients. Owns what is asked of the past and what is answered (docs/API.md, `GET /api/events`, `GET /api/stats`).

import type { JournalStatus, StatsAnswer } from '../shared/contract/journal-messages.js';
import type { EventFilter } from './event-filter.js';
import type { StreamEvent } from './stream-events.js';

/** Query of `GET /api/events`. */
export interface EventsQuery extends EventFilter {
  /** Default `newest`. */
  order?: 'newest' | 'oldest';
  /** An id (exclusive), Unix epoch milliseconds (inclusive), or a date. */
  after?: string | number | undefined;
  /** An id or a time, exclusive. */
  before?: string | number | undefined;
  /** Text in the message, in whatever case. */
  q?: string | undefined;
  /** 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** From the last page, with the same query. */
  cursor?: string | undefined;
}

/** Query of a download: the whole range. */
export type DownloadQuery = Omit<EventsQuery, 'limit' | 'cursor'>;

/** One page. It may be empty and still have a cursor; without one the range is over. */
export interface EventsPage {
  events: StreamEvent[];
  cursor: string | null;
}

/** Query of `GET /api/stats`. */
export interface StatsQuery {
  after?: string | number | undefined;
  before?: string | number | undefined;
  /** Length of a bucket in s, a multiple of 10. */
  step?: number | undefined;
}

export type StatsBucket = StatsAnswer['buckets'][number];

/** Body of `GET /api/stats`; buckets ascend, and those without an event are left out. */
export interface Stats extends StatsAnswer {
  journal: JournalStatus;
}
