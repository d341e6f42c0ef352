// Imported by main, the fronts and the journal thread. Owns what is asked of the journal and what it answers.

import type { JournalStatus, StatsAnswer } from './journal-schemas.js';

export type { JournalStatus, StatsAnswer };

export const JOURNAL_OFF: JournalStatus = {
  state: 'off',
  reason: null,
  oldest: null,
  newest: null,
  bytes: 0,
  lost: 0,
  holes: 0,
};

/** Frames from `from` on, for a stream that resumes. */
export interface ReplayRequest {
  from: number;
  /** Key of the stream's filter (src/shared/stream/filter.ts), null for everything. */
  filter: string | null;
  /** Bytes of one piece; a frame that is larger goes alone. */
  pieceBytes: number;
  /** Bytes of all pieces together, about. */
  maxBytes: number;
  /** Memory for them, of a part that is used no more; it is transferred. Without it, or when it is too small, there is new. */
  memory?: ArrayBuffer | undefined;
}

export interface ReplayPart {
  /** In memory of its own, which is transferred. */
  bytes: Uint8Array;
  /** Of each piece: the offset behind it in `bytes`, and the sequence number that comes next. */
  pieces: { end: number; next: number }[];
  /** The first frame that there is at or behind `from`; null when there is none. */
  first: number | null;
  /** That frame declares itself what lies before it. */
  firstIsGap: boolean;
  /** Where to go on. */
  next: number;
}

/** One page of `GET /api/events`. Bounds of time are in Unix epoch milliseconds: `after` is inclusive, `before` is not. */
export interface PageRequest {
  /** Key of the filter, null for everything. */
  filter: string | null;
  order: 'newest' | 'oldest';
  /** Sequence numbers above, below this. */
  afterSeq: number | null;
  beforeSeq: number | null;
  afterMs: number | null;
  beforeMs: number | null;
  /** Text to be found, in whatever case; null for none. */
  text: string | null;
  limit: number;
  /** Bytes of the page, about. */
  maxBytes: number;
  /** Lines instead of a whole answer. */
  lines: boolean;
}

export interface Page {
  /** The answer as clients get it: JSON with `events` and `cursor`, or one event on each line. */
  body: Uint8Array;
  count: number;
  /** Sequence number to go on from, exclusive in the order asked for; null at the end of the range. */
  cursor: number | null;
  /** Events from this sequence number on came later than the request, or are not in its range. */
  end: number;
}

/** Query of `GET /api/stats`, in Unix epoch milliseconds. */
export interface StatsRequest {
  after: number | null;
  before: number | null;
  stepS: number | null;
}
