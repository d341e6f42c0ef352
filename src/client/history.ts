import type {
  FieldHistory,
  JournalStatus,
  StatsAnswer,
} from '../shared/contract/journal-messages.js';
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
  /** 1 to 1,000, default 100. */
  limit?: number | undefined;
  /** From the previous page of the same query. */
  cursor?: string | undefined;
}

/** Query of a download, which returns the whole range. */
export type DownloadQuery = Omit<EventsQuery, 'limit' | 'cursor'>;

/** One page. An empty page can have a cursor; null means the end of the range. */
export interface EventsPage {
  events: StreamEvent[];
  cursor: string | null;
  /** In a cluster: the nodes that did not answer, whose events are not in here. */
  missing?: readonly { node: string; reason: string }[];
}

/** Query of `GET /api/bots/{id}/history`. */
export interface BotHistoryQuery {
  /** Fields, at most 10: `data.gold`, `restarts`, `status` and others. */
  field: readonly string[];
  /** Unix epoch milliseconds (inclusive) or a date. Default: an hour before `before`. */
  after?: string | number | undefined;
  /** The same, exclusive. Default: now. */
  before?: string | number | undefined;
  /** Into how many parts the time is divided: 1 to 500, default 200. */
  points?: number | undefined;
}

export type BotHistory = FieldHistory;
export type BotHistoryPoint = FieldHistory['points'][number];

/** Query of `GET /api/stats`. */
export interface StatsQuery {
  after?: string | number | undefined;
  before?: string | number | undefined;
  /** Length of a bucket in s; without a query a multiple of 10. */
  step?: number | undefined;
  /** Counts only the events that match: docs/QUERY.md. */
  query?: string | undefined;
}

/** Query of `GET /api/incidents/groups`. */
export interface IncidentGroupsQuery {
  /** Only this group, with all of its bots. */
  cause?: string | undefined;
  after?: string | number | undefined;
  before?: string | number | undefined;
  /** 1 to 1,000, default 100. */
  limit?: number | undefined;
}

export type StatsBucket = StatsAnswer['buckets'][number];

/** Body of `GET /api/stats`. Buckets are in ascending order; empty ones are omitted. */
export interface Stats extends StatsAnswer {
  journal: JournalStatus;
}

/** Body of `GET /api/states`: what each bot was at a moment. */
export type { BotState, PastStates } from '../shared/contract/journal-messages.js';
