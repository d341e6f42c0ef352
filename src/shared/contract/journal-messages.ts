// Requests to the journal thread and its answers. Threads that validate nothing import the types from here and load no TypeBox.

import type {
  BotState,
  FieldHistory,
  HistoryPoint,
  JournalStatus,
  MissingNode,
  PastStates,
  StatsAnswer,
} from './journal-schemas.js';
import type { Reach } from './tokens.js';

export type {
  BotState,
  FieldHistory,
  HistoryPoint,
  JournalStatus,
  MissingNode,
  PastStates,
  StatsAnswer,
};

export const JOURNAL_OFF: JournalStatus = {
  state: 'off',
  reason: null,
  oldest: null,
  newest: null,
  bytes: 0,
  lost: 0,
  holes: 0,
};

/** Asks for frames from `from` on, for a stream that resumes. */
export interface ReplayRequest {
  from: number;
  /** Key of the stream's filter (src/shared/stream/filter.ts), null for everything. */
  filter: string | null;
  /** Bytes of one piece; a larger frame is its own piece. */
  pieceBytes: number;
  /** Approximate bytes of all pieces. */
  maxBytes: number;
  /** Memory of an earlier part, for reuse; it is transferred. New memory is allocated when it is missing or too small. */
  memory?: ArrayBuffer | undefined;
}

export interface ReplayPart {
  /** Its memory is transferred. */
  bytes: Uint8Array;
  /** For each piece: its end in `bytes`, and the next sequence number. */
  pieces: { end: number; next: number }[];
  /** The first frame from `from` on; null when there is none. */
  first: number | null;
  /** That frame is a gap, which declares what is missing before it. */
  firstIsGap: boolean;
  /** Where the next request continues. */
  next: number;
  /** How long the journal has read for it, in ms. */
  readMs: number;
}

/** A request of a client. */
export type Asked<T> = T & {
  /** Id of its token: each token gets its share of the searches. */
  token: string;
};

/** One page of `GET /api/events`. Bounds of time are in Unix epoch milliseconds: `after` is inclusive, `before` is not. */
export interface PageRequest {
  /** Key of the filter, null for everything. */
  filter: string | null;
  order: 'newest' | 'oldest';
  /** Exclusive bounds of the sequence numbers. */
  afterSeq: number | null;
  beforeSeq: number | null;
  afterMs: number | null;
  beforeMs: number | null;
  limit: number;
  /** Approximate bytes of the page. */
  maxBytes: number;
  /** NDJSON instead of one JSON document. */
  lines: boolean;
  /** With `lines`: puts the time and the number of each event before it, each followed by a space, for a merge. */
  isStamped?: boolean;
  /** Only for the stream of a cluster: where the page of all nodes begins, and ends. */
  merged?: MergedPosition;
}

export interface MergedPosition {
  /** The cursor of the page before, null for the first page. */
  cursor: string | null;
  /** Events from this number on are left out; null for those that come after the request. */
  cut: number | null;
}

export interface Page {
  /** The response body: JSON with `events` and `cursor`, or one event on each line. */
  body: Uint8Array;
  count: number;
  /** Sequence number to continue from, exclusive in the requested order; null at the end of the range. */
  cursor: number | null;
  /** Events from this sequence number on are newer than the request, or outside its range. */
  end: number;
  /** Replaces `cursor` and `end` in a page of all nodes of a cluster. */
  merged?: MergedPosition & { missing: MissingNode[] };
}

/** Query of `GET /api/bots/{id}/history`, for one bot. */
export interface FieldHistoryRequest {
  /** Key of a filter for the `session` events of this bot, and of no other. */
  filter: string;
  /** Names of fields (src/shared/query/bot-field.ts). */
  fields: readonly string[];
  /** Unix epoch ms, inclusive. */
  afterMs: number;
  /** Unix epoch ms, exclusive. */
  beforeMs: number;
  points: number;
}

/** Query of `GET /api/stats`, in Unix epoch milliseconds. */
export interface StatsRequest {
  after: number | null;
  before: number | null;
  stepS: number | null;
  /** Counts only the events that match. */
  search?: Pick<PageRequest, 'filter'>;
}

/** Query of `GET /api/states`. */
export interface StatesRequest {
  /** The moment, in Unix epoch milliseconds; one that has not come is now. */
  at: number;
  /** The bots that the token reaches, by what they were at that moment. */
  reach: Reach;
}
