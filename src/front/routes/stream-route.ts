import { HEARTBEAT_HEADER } from '../../shared/contract/heartbeat-header.js';
import type { Shortage } from '../../shared/contract/pressure.js';
import type { QueryOf } from '../../shared/contract/routes/table.js';
import type { Reach } from '../../shared/contract/tokens.js';
import { DroverError } from '../../shared/errors.js';
import { type Filter, parseFilter, type StreamReach } from '../../shared/stream/filter.js';
import { retryLine } from '../../shared/stream/stream-text.js';
import { type Authenticator, type Caller, originOf } from '../access/auth.js';
import type { SnapshotMirror } from '../bots/snapshot-mirror.js';
import type { Exchange } from '../engine/engine.js';
import { SAFE_HEADERS } from '../engine/responses.js';
import { asksForSelf, queryPairs, queryValue } from '../http/query-string.js';
import type { StreamLease, StreamLeases } from '../stream/stream-lease.js';
import type { Subscriber } from '../stream/subscriber.js';
import type { Guard, Handler } from '../table/handlers.js';
import { queryReader } from '../table/query-reader.js';
import type { View } from '../views/view.js';
import type { Views } from '../views/views.js';
import type { Control } from './control.js';

const ROUTE = 'GET /events';
const STREAM_HEADERS = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache, no-transform',
  // Stops nginx and others from buffering the stream.
  'X-Accel-Buffering',
  'no',
  ...SAFE_HEADERS,
];

/** Whether new streams are accepted; main changes it. */
export interface StreamAdmission {
  /** Why they are refused, null when they are accepted. */
  shortage: Shortage | null;
}

export interface StreamRouteParts {
  auth: Pick<Authenticator, 'fromTicket'>;
  control: Control;
  leases: StreamLeases;
  views: Pick<Views, 'ofClient'>;
  admission: StreamAdmission;
  retry: Retry;
  heartbeatMs: number;
}

interface Parts extends StreamRouteParts {
  headers: readonly string[];
}

/** How long clients wait before they reconnect. */
export interface Retry {
  /** In ms, before the deviation. */
  baseMs: number;
  /** How many come back in a second if all are lost at once. */
  perSecond: number;
}

/** The request of the client, read before the first await. */
type Query = QueryOf<typeof ROUTE>;

interface StreamRequest {
  query: Query;
  lastEventId: string;
}

/** `GET /events` until the fan-out takes the stream over: authentication by token or ticket, bounds, filter. */
export function streamRoute(given: StreamRouteParts, guard: Guard): Handler {
  // Built once, because each stream keeps its headers.
  const headers = [...STREAM_HEADERS, HEARTBEAT_HEADER, String(given.heartbeatMs)];
  const parts = { ...given, headers };
  const byToken = guard.guarded(ROUTE, (exchange, caller, { query }) =>
    open(parts, exchange, caller, streamRequest(exchange, query)),
  );
  const readQuery = queryReader(ROUTE);
  return (exchange, path) => {
    // HEAD opens no stream, so it must not consume a ticket.
    const ticket = exchange.method === 'GET' ? ticketOf(exchange) : undefined;
    if (ticket === undefined) return byToken(exchange, path);
    // Parses the request before the ticket is consumed, so that an invalid request costs no ticket.
    const request = streamRequest(exchange, readQuery(exchange.query));
    return redeem(parts, guard, exchange, ticket, request);
  };
}

async function redeem(
  parts: Parts,
  guard: Guard,
  exchange: Exchange,
  ticket: string,
  request: StreamRequest,
): Promise<void> {
  const from = originOf(exchange);
  const { token } = await parts.control.call('redeemTicket', { ticket });
  const caller = guard.admit(ROUTE, exchange, parts.auth.fromTicket(token, from));
  if (!exchange.aborted) open(parts, exchange, caller, request);
}

function open(parts: Parts, exchange: Exchange, { record }: Caller, request: StreamRequest): void {
  const view = parts.views.ofClient(request.query, request.lastEventId);
  if (exchange.method === 'HEAD') {
    filterOf(view, record, request);
    exchange.respond({ status: 200, headers: parts.headers, body: '' });
    return;
  }
  const { admission, leases } = parts;
  if (admission.shortage) throw new DroverError('unavailable', admission.shortage.message);
  const lease = leases.acquire(record.id, exchange.address);
  let filter: Filter | null;
  try {
    // Builds the filter only under a lease, because it can have a thousand names.
    filter = filterOf(view, record, request);
  } catch (thrown) {
    lease.release();
    throw thrown;
  }
  stream(parts, view.fanout, exchange, lease, filter, request);
}

function filterOf(
  { mirror, names, nodes, makeJudge }: View,
  { reach }: Caller['record'],
  { query }: StreamRequest,
): Filter | null {
  return parseFilter(Object.entries(query), names, streamReach(reach, mirror), nodes, makeJudge);
}

/** The functions here live as long as the stream, so they must not refer to anything of the request. */
function stream(
  parts: Parts,
  fanout: View['fanout'],
  exchange: Exchange,
  lease: StreamLease,
  filter: Filter | null,
  { query, lastEventId }: StreamRequest,
): void {
  const { leases, retry } = parts;
  let subscriber: Subscriber | undefined;
  const sink = exchange.stream(
    parts.headers,
    () => subscriber && fanout.remove(subscriber),
    () => subscriber && fanout.writable(subscriber),
  );
  lease.bind(sink);
  subscriber = fanout.add(sink, {
    filter,
    // Each start takes a front's time: without the addition, all streams of a full service would come back within a second.
    opening: retryLine(retry.baseMs, (leases.open / retry.perSecond) * 1000, Math.random),
    lastEventId,
    snapshots: query.snapshot !== '0',
    isOwn: asksForSelf(query),
    removed: () => lease.release(),
  });
}

/** A limit to labels needs to know which labels a bot had at each frame. */
export function streamReach(reach: Reach, mirror: Pick<SnapshotMirror, 'labels'>): StreamReach {
  if (reach === null || 'bots' in reach) return reach;
  return { labels: reach.labels, history: mirror.labels };
}

function streamRequest(exchange: Exchange, query: Query): StreamRequest {
  // A client that reconnects adds the header, or event-source-polyfill its parameter, to the same URL: these are newer.
  const lastEventId =
    exchange.header('last-event-id') || query.lastEventId || query.last_event_id || '';
  return { query, lastEventId };
}

/** The ticket, unless the request has a token too: a token in the header or the query takes precedence. */
function ticketOf(exchange: Exchange): string | undefined {
  if (!exchange.query.includes('ticket') || exchange.header('authorization') !== '')
    return undefined;
  const pairs = queryPairs(exchange.query);
  return queryValue(pairs, 'token') === undefined ? queryValue(pairs, 'ticket') : undefined;
}
