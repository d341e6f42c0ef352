import type { PageRequest, StatsRequest } from '../../shared/contract/journal-messages.js';
import type { EVENTS_QUERY, STATES_QUERY, STATS_QUERY } from '../../shared/contract/queries.js';
import { FORMATS, LIMIT, ORDERS, STEP_S } from '../../shared/contract/query-bounds.js';
import { DroverError } from '../../shared/errors.js';
import { instantOf } from '../../shared/query/instant.js';
import { type Filter, parseFilter, type StreamReach } from '../../shared/stream/filter.js';
import { expectSelf, type Pairs, queryValue, readLimit, readOneOf } from '../http/query-string.js';
import type { View } from '../views/view.js';

/** Approximate bytes of a page (a frame can have 64 KiB). A page is in memory until the client has read it. */
const PAGE_BYTES = 1024 * 1024;
const EVENT_ID = /^([0-9a-f]{1,32})-(0|[1-9][0-9]{0,15})$/;
const MILLISECONDS = /^[0-9]{1,15}$/;

/** `whole` is a download: all pages, one after the other. */
export interface EventQuery {
  /** Without the filter, whose key takes time when bots are judged. */
  request: Omit<PageRequest, 'filter'>;
  filter: Filter | null;
  whole: boolean;
}

export interface StatsQuery {
  request: Omit<StatsRequest, 'search'>;
  /** Undefined without a query: then nothing is searched. */
  filter: Filter | null | undefined;
}

/** @throws DroverError `bad_request`. */
export function parseEventQuery(
  pairs: Pairs,
  { epoch, names, nodes, makeJudge }: Pick<View, 'epoch' | 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): EventQuery {
  const value = (name: keyof typeof EVENTS_QUERY) => queryValue(pairs, name);
  const whole = readOneOf('format', value('format') ?? 'json', FORMATS) === 'ndjson';
  const order = readOneOf('order', value('order') ?? (whole ? 'oldest' : 'newest'), ORDERS);
  const filter = parseFilter(pairs, names, reach, nodes, makeJudge);
  const request: EventQuery['request'] = {
    order,
    afterSeq: null,
    beforeSeq: null,
    afterMs: null,
    beforeMs: null,
    limit: limitOf(value('limit'), whole),
    maxBytes: PAGE_BYTES,
    lines: whole,
  };
  const { after, before } = {
    after: bound('after', value('after'), epoch),
    before: bound('before', value('before'), epoch),
  };
  if (after?.seq !== undefined) request.afterSeq = after.seq;
  if (after?.ms !== undefined) request.afterMs = after.ms;
  if (before?.seq !== undefined) request.beforeSeq = before.seq;
  if (before?.ms !== undefined) request.beforeMs = before.ms;
  const cursor = value('cursor');
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
  pairs: Pairs,
  { names, nodes, makeJudge }: Pick<View, 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): StatsQuery {
  const value = (name: keyof typeof STATS_QUERY) => queryValue(pairs, name);
  const time = (name: 'before' | 'after'): number | null => {
    const given = value(name);
    return given === undefined ? null : timeOf(name, given);
  };
  expectSelf(value('node'), 'statistics are');
  const asked = value('query');
  if (reach !== null && asked === undefined) {
    throw new DroverError('forbidden', 'this token is limited to some bots: it needs a query');
  }
  const step = value('step');
  const isWhole = step === undefined || /^[1-9][0-9]{0,7}$/.test(step);
  if (!isWhole || (asked === undefined && Number(step ?? 0) % STEP_S !== 0)) {
    throw new DroverError(
      'bad_request',
      `step must be a whole number of seconds, without a query a multiple of ${STEP_S}`,
    );
  }
  const request = {
    after: time('after'),
    before: time('before'),
    stepS: step ? Number(step) : null,
  };
  if (asked === undefined) return { request, filter: undefined };
  return { request, filter: parseFilter([['query', asked]], names, reach, nodes, makeJudge) };
}

/** @returns the moment, in Unix epoch ms. @throws DroverError `bad_request`. */
export function parseStatesQuery(pairs: Pairs): number {
  const value = (name: keyof typeof STATES_QUERY) => queryValue(pairs, name);
  expectSelf(value('node'), 'states are');
  const at = value('at');
  return at === undefined ? Date.now() : timeOf('at', at);
}

function limitOf(value: string | undefined, whole: boolean): number {
  if (whole) {
    if (value !== undefined) {
      throw new DroverError(
        'bad_request',
        'a download has no limit: format=ndjson is the whole range',
      );
    }
    return LIMIT.maximum;
  }
  return readLimit(value);
}

function bound(
  name: string,
  value: string | undefined,
  epoch: string,
): { seq?: number; ms?: number } | undefined {
  if (value === undefined) return undefined;
  const seq = seqOf(name, value, epoch);
  return seq === undefined ? { ms: timeOf(name, value) } : { seq };
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

/** Unix epoch milliseconds, or an ISO 8601 date; a time of day needs a zone. */
export function timeOf(name: string, value: string): number {
  const ms = MILLISECONDS.test(value) ? Number(value) : instantOf(value);
  if (Number.isNaN(ms)) {
    throw new DroverError(
      'bad_request',
      `${name} must be an id, Unix epoch milliseconds, or a date that exists, like 2026-01-31 or 2026-01-31T03:00:00Z, with Z or an offset like +01:00 behind a time`,
    );
  }
  return ms;
}
