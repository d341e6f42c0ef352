// Runs in a front thread. Owns `GET /events` up to where the fan-out takes the stream over: who may have one, by token or
// by ticket, how many there may be, and what it is limited to.

import type { Shortage } from '../shared/contract/pressure.js';
import type { STREAM_QUERY } from '../shared/contract/queries.js';
import type { Reach } from '../shared/contract/tokens.js';
import { DroverError } from '../shared/errors.js';
import { type FILTER_NAMES, parseFilter, type StreamReach } from '../shared/stream/filter.js';
import type { Caller } from './auth.js';
import type { Exchange } from './engine/engine.js';
import type { Front, OpenHandler } from './front.js';
import { queryPairs } from './query-string.js';
import { SAFE_HEADERS } from './responses.js';
import type { FrontParts } from './routes.js';
import { StreamLease } from './stream-lease.js';
import { retryLine } from './stream-text.js';
import type { Subscriber } from './subscriber.js';

const ROUTE = 'GET /events';
const STREAM_HEADERS = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache, no-transform',
  // nginx and others would collect the stream before they pass it on.
  'X-Accel-Buffering',
  'no',
  ...SAFE_HEADERS,
];

/** What a request for a stream asks for; read before anything is waited for. */
interface Wish {
  pairs: [string, string][];
  lastEventId: string;
}

export class StreamRoute {
  readonly #parts: FrontParts;
  /** Why new streams are refused. */
  shortage: Shortage | null;

  constructor(parts: FrontParts, shortage: Shortage | null) {
    this.#parts = parts;
    this.shortage = shortage;
  }

  handler(front: Front): OpenHandler {
    const byToken = front.guarded(ROUTE, (exchange, caller) =>
      this.#open(exchange, caller, wishOf(exchange)),
    );
    return (exchange, parameters) => {
      // HEAD opens nothing, so it must not use a ticket up.
      const ticket = exchange.method === 'GET' ? ticketOf(exchange) : undefined;
      if (ticket === undefined) return byToken(exchange, parameters);
      return this.#redeem(front, exchange, ticket, wishOf(exchange));
    };
  }

  async #redeem(front: Front, exchange: Exchange, ticket: string, wish: Wish): Promise<void> {
    const { auth, control } = this.#parts;
    const { token } = await control.call('redeemTicket', { ticket });
    const caller = front.admit(ROUTE, exchange, auth.fromTicket(token));
    if (!exchange.aborted) this.#open(exchange, caller, wish);
  }

  #open(exchange: Exchange, { record }: Caller, { pairs, lastEventId }: Wish): void {
    const { config, fanout, names } = this.#parts;
    const filter = parseFilter(pairs, names, this.#limit(record.reach));
    if (exchange.method === 'HEAD') {
      exchange.answer({ status: 200, headers: STREAM_HEADERS, body: '' });
      return;
    }
    if (this.shortage) throw new DroverError('unavailable', this.shortage.message);
    const seat = new StreamLease(this.#parts, record.id, exchange.address);
    let subscriber: Subscriber | undefined;
    const sink = exchange.stream(
      STREAM_HEADERS,
      () => subscriber && fanout.remove(subscriber),
      () => subscriber && fanout.writable(subscriber),
    );
    seat.hold(sink);
    subscriber = fanout.add(sink, {
      filter,
      opening: retryLine(config.stream.retry_ms, Math.random()),
      lastEventId,
      snapshots: parameterOf(pairs, 'snapshot') !== '0',
      removed: () => seat.leave(),
    });
  }

  #limit(reach: Reach): StreamReach {
    if (reach === null || 'bots' in reach) return reach;
    return { labels: reach.labels, history: this.#parts.mirror.labels };
  }
}

function wishOf(exchange: Exchange): Wish {
  const pairs = queryPairs(exchange.query);
  const value = parameterOf(pairs, 'last_event_id') ?? '';
  // The header is what a browser sends when it reconnects, to the same URL: it is the newer one.
  return { pairs, lastEventId: exchange.header('last-event-id') || value };
}

function parameterOf(
  pairs: Wish['pairs'],
  name: Exclude<keyof typeof STREAM_QUERY, (typeof FILTER_NAMES)[number]>,
): string | undefined {
  return pairs.find(([key]) => key === name)?.[1];
}

/** The ticket, where it counts: a token in the header or in the query goes before it. */
function ticketOf(exchange: Exchange): string | undefined {
  if (!exchange.query.includes('ticket') || exchange.header('authorization') !== '')
    return undefined;
  const pairs = queryPairs(exchange.query);
  if (pairs.some(([key]) => key === 'token')) return undefined;
  return pairs.find(([key]) => key === 'ticket')?.[1];
}
