import type { Page, PageRequest } from '../../shared/contract/journal-messages.js';
import type { QueryOf } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import type { Authenticator, Caller } from '../access/auth.js';
import type { Exchange, StreamSink } from '../engine/engine.js';
import { jsonResponse, SAFE_HEADERS } from '../engine/responses.js';
import { type EventQuery, parseEventQuery, parseStatsQuery } from '../history/event-query.js';
import { parseFieldHistoryQuery } from '../history/field-history-query.js';
import { SearchShares } from '../history/search-shares.js';
import type { StreamLease, StreamLeases } from '../stream/stream-lease.js';
import type { CallerHandlers } from '../table/handlers.js';
import type { View } from '../views/view.js';
import type { Views } from '../views/views.js';
import { streamReach } from './stream-route.js';

/** Events and bytes of one page of a download. */
const PART_EVENTS = 1000;
const PART_BYTES = 256 * 1024;
/** A download is cut if its client reads nothing for this long, in ms, as uWebSockets would do. */
const STALL_MS = 10_000;

const DOWNLOAD_HEADERS = [
  'Content-Type',
  'application/x-ndjson',
  'Content-Disposition',
  'attachment; filename="events.ndjson"',
  'Cache-Control',
  'no-store',
  ...SAFE_HEADERS,
];

/** Header of a download in a cluster: the nodes whose events are missing. */
const MISSING_NODES = 'Drover-Missing-Nodes';

export interface HistoryRoutesParts {
  auth: Pick<Authenticator, 'recheck'>;
  leases: Pick<StreamLeases, 'acquire'>;
  views: Pick<Views, 'of' | 'whenCurrent'>;
  /** The most bytes that one write to a stream sends in one piece. */
  maxWriteBytes: number;
}

/**
 * `GET /api/events`, `GET /api/activity`, `GET /api/states`, `GET /api/stats` and `GET /api/bots/{id}/history`. The journal searches in its own thread. In a
 * cluster the bus thread asks the journals of all
 * nodes.
 */
export function historyRoutes(
  parts: HistoryRoutesParts,
): CallerHandlers<
  | 'GET /api/events'
  | 'GET /api/activity'
  | 'GET /api/states'
  | 'GET /api/stats'
  | 'GET /api/bots/{id}/history'
> {
  const { auth, views } = parts;
  const shares = new SearchShares();
  /** One answer of the journal, within the caller's share of the searches. @param ask is called within it too. */
  const answer = async (
    exchange: Exchange,
    caller: Caller,
    ask: (token: string, gone: AbortSignal) => Promise<{ body: Uint8Array }>,
  ): Promise<void> => {
    const { id: token } = caller.record;
    const leave = shares.enter(token);
    try {
      const { body } = await ask(token, exchange.gone());
      auth.recheck(caller);
      exchange.respond(jsonResponse(body));
    } finally {
      leave();
    }
  };
  const events = async (
    exchange: Exchange,
    caller: Caller,
    asked: Partial<QueryOf<'GET /api/events'>>,
  ): Promise<void> => {
    const { id: token, reach } = caller.record;
    const view = views.of(asked);
    let query: EventQuery;
    const leave = shares.enter(token);
    try {
      query = parseEventQuery(asked, view, streamReach(reach, view.mirror));
      if (!query.whole) {
        const gone = exchange.gone();
        const { body } = await view.journal.page({ ...(await pageOf(query)), token }, gone);
        auth.recheck(caller);
        exchange.respond(jsonResponse(body));
        return;
      }
    } finally {
      leave();
    }
    if (exchange.method === 'GET') return download(parts, view, exchange, caller, query);
    exchange.respond({ status: 200, headers: DOWNLOAD_HEADERS, body: '' });
  };
  return {
    'GET /api/events': (exchange, caller, { query }) => events(exchange, caller, query),
    'GET /api/activity': (exchange, caller, { query }) =>
      events(exchange, caller, { ...query, event: ['activity'] }),
    'GET /api/states': (exchange, caller, { query }) =>
      answer(exchange, caller, (token, gone) => {
        const { at = Date.now() } = query;
        return views.of(query).journal.states({ at, reach: caller.record.reach, token }, gone);
      }),
    'GET /api/stats': (exchange, caller, { query }) =>
      answer(exchange, caller, async (token, gone) => {
        const view = views.of(query);
        const reach = streamReach(caller.record.reach, view.mirror);
        const { request, filter } = parseStatsQuery(query, view, reach);
        const search =
          filter === undefined ? {} : { search: { filter: (await filter?.pastKey) ?? null } };
        return view.journal.stats({ ...request, ...search, token }, gone);
      }),
    'GET /api/bots/{id}/history': async (exchange, caller, { path: [id], query }) => {
      const { reach } = caller.record;
      const view = views.of(query);
      // A bot that the token does not reach does not exist for it.
      await views.whenCurrent(view, (bots) => void view.bots.one(id, reach, bots));
      auth.recheck(caller);
      await answer(exchange, caller, (token, gone) => {
        const asked = parseFieldHistoryQuery(query, id, view, streamReach(reach, view.mirror));
        return view.journal.fieldHistory({ ...asked, token }, gone);
      });
    },
  };
}

/**
 * The whole range, page by page, as fast as the client reads: one page is in memory at a time. It counts as a stream and
 * ends when its token does.
 */
async function download(
  parts: HistoryRoutesParts,
  view: View,
  exchange: Exchange,
  caller: Caller,
  query: EventQuery,
): Promise<void> {
  // Reads the address before the first await, because the engine may drop it after that.
  const lease = parts.leases.acquire(caller.record.id, exchange.address);
  try {
    await sendPages(parts, view, exchange, caller, query, lease);
  } finally {
    lease.release();
  }
}

async function sendPages(
  { auth, maxWriteBytes }: HistoryRoutesParts,
  { journal }: View,
  exchange: Exchange,
  caller: Caller,
  query: EventQuery,
  lease: StreamLease,
): Promise<void> {
  const { id: token } = caller.record;
  const signal = exchange.gone();
  const request = await pageOf(query);
  const wanted = { ...request, token, limit: PART_EVENTS, maxBytes: PART_BYTES };
  // Asks for the first page before the response begins, so that an unavailable journal gives an error and not an empty
  // file.
  let page = await journal.page(wanted, signal);
  if (signal.aborted) return;
  auth.recheck(caller);
  // Later events are left out: under load the download would never end.
  if (!page.merged) wanted.beforeSeq = page.end;
  const missing = page.merged?.missing.map(({ node }) => node) ?? [];
  const flow = new Flow();
  const sink = exchange.stream(
    missing.length > 0
      ? [...DOWNLOAD_HEADERS, MISSING_NODES, missing.join(', ')]
      : DOWNLOAD_HEADERS,
    () => flow.close(),
    () => flow.open(),
  );
  lease.bind(sink);
  try {
    for (;;) {
      await send(sink, flow, page.body, maxWriteBytes);
      if (flow.isClosed) return;
      if (!continueWith(wanted, page)) break;
      page = await journal.page(wanted);
      if (flow.isClosed) return;
      if (page.merged?.missing.some(({ node }) => !missing.includes(node))) {
        throw new DroverError('unavailable', 'a node has stopped answering');
      }
      auth.recheck(caller);
    }
    sink.end();
  } catch {
    // The client must notice that the download is incomplete.
    if (!flow.isClosed) sink.close();
  }
}

async function pageOf({ request, filter }: EventQuery): Promise<PageRequest> {
  return { ...request, filter: (await filter?.pastKey) ?? null };
}

/** Changes the request to that for the next page. @returns false when there is none. */
function continueWith(wanted: PageRequest, { cursor, merged }: Page): boolean {
  if (merged) {
    wanted.merged = { cursor: merged.cursor, cut: merged.cut };
    return merged.cursor !== null;
  }
  if (cursor === null) return false;
  if (wanted.order === 'newest') wanted.beforeSeq = cursor;
  else wanted.afterSeq = cursor;
  return true;
}

async function send(
  sink: StreamSink,
  flow: Flow,
  bytes: Uint8Array,
  pieceBytes: number,
): Promise<void> {
  for (let at = 0; at < bytes.length && !flow.isClosed; at += pieceBytes) {
    flow.isBlocked = !sink.write(bytes.subarray(at, at + pieceBytes));
    if (flow.isBlocked && !(await flow.untilOpen())) {
      sink.close();
      return;
    }
  }
}

/** Backpressure of a download. */
class Flow {
  isClosed = false;
  isBlocked = false;
  #wake: () => void = () => {};

  open(): void {
    this.isBlocked = false;
    this.#wake();
  }

  close(): void {
    this.isClosed = true;
    this.#wake();
  }

  /** @returns false if the client reads nothing for too long. */
  async untilOpen(): Promise<boolean> {
    const end = performance.now() + STALL_MS;
    while (this.isBlocked && !this.isClosed) {
      const left = end - performance.now();
      if (left <= 0) return false;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return true;
  }
}
