import type { PageRequest, StatsRequest } from '../../shared/contract/journal-messages.js';
import { LIMIT, STEP_S } from '../../shared/contract/query-bounds.js';
import type { QueryOf } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import { type Filter, parseFilter, type StreamReach } from '../../shared/stream/filter.js';
import { timeOf } from '../table/query-reader.js';
import type { View } from '../views/view.js';

/** Approximate bytes of a page (a frame can have 64 KiB). A page is in memory until the client has read it. */
const PAGE_BYTES = 1024 * 1024;
const EVENT_ID = /^([0-9a-f]{1,32})-(0|[1-9][0-9]{0,15})$/;

/** `whole` is a download: all pages, one after the other. */
export interface EventQuery {
  /** The request without its filter, because making the filter's key takes time when bots are judged. */
  request: Omit<PageRequest, 'filter'>;
  filter: Filter | null;
  whole: boolean;
}

export interface StatsQuery {
  request: Omit<StatsRequest, 'search'>;
  /** Undefined without a query: then the counts are read without a search. */
  filter: Filter | null | undefined;
}

/** @throws DroverError `bad_request`. */
export function parseEventQuery(
  query: Partial<QueryOf<'GET /api/events'>>,
  { epoch, names, nodes, makeJudge }: Pick<View, 'epoch' | 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): EventQuery {
  const { cursor, limit = LIMIT.default } = query;
  const whole = query.format === 'ndjson';
  const { order = whole ? 'oldest' : 'newest' } = query;
  if (whole && query.limit !== undefined) {
    throw new DroverError(
      'bad_request',
      'a download has no limit: format=ndjson is the whole range',
    );
  }
  const filter = parseFilter(Object.entries(query), names, reach, nodes, makeJudge);
  const request: EventQuery['request'] = {
    order,
    afterSeq: null,
    beforeSeq: null,
    afterMs: null,
    beforeMs: null,
    limit: whole ? LIMIT.maximum : limit,
    maxBytes: PAGE_BYTES,
    lines: whole,
  };
  const after = bound('after', query.after, epoch);
  const before = bound('before', query.before, epoch);
  if (after?.seq !== undefined) request.afterSeq = after.seq;
  if (after?.ms !== undefined) request.afterMs = after.ms;
  if (before?.seq !== undefined) request.beforeSeq = before.seq;
  if (before?.ms !== undefined) request.beforeMs = before.ms;
  if (nodes) request.merged = { cursor: cursor ?? null, cut: null };
  else if (cursor !== undefined) {
    const at = seqOf('cursor', cursor, epoch);
    if (at === undefined) throw new DroverError('bad_request', 'cursor is not one of this journal');
    if (order === 'newest') request.beforeSeq = Math.min(request.beforeSeq ?? at, at);
    else request.afterSeq = Math.max(request.afterSeq ?? at, at);
  }
  return { request, filter, whole };
}

/** @throws DroverError `bad_request`, or `forbidden` for statistics of all bots with a token that is limited to some. */
export function parseStatsQuery(
  { query: asked, step, after, before }: Partial<QueryOf<'GET /api/stats'>>,
  { names, nodes, makeJudge }: Pick<View, 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): StatsQuery {
  if (reach !== null && asked === undefined) {
    throw new DroverError('forbidden', 'this token is limited to some bots: it needs a query');
  }
  if (asked === undefined && (step ?? 0) % STEP_S !== 0) {
    throw new DroverError('bad_request', `step must be a multiple of ${STEP_S} without a query`);
  }
  const request = { after: after ?? null, before: before ?? null, stepS: step ?? null };
  if (asked === undefined) return { request, filter: undefined };
  return { request, filter: parseFilter([['query', asked]], names, reach, nodes, makeJudge) };
}

function bound(
  name: string,
  value: string | undefined,
  epoch: string,
): { seq?: number; ms?: number } | undefined {
  if (value === undefined) return undefined;
  const seq = seqOf(name, value, epoch);
  return seq === undefined ? { ms: timeOf(name, value, 'an id, ') } : { seq };
}

/** The number of an id, undefined if it is not an id. */
function seqOf(name: string, value: string, epoch: string): number | undefined {
  const match = EVENT_ID.exec(value);
  if (!match) return undefined;
  if (match[1] !== epoch) {
    throw new DroverError('bad_request', `${name} is an id of another numbering`);
  }
  return Number(match[2]);
}
