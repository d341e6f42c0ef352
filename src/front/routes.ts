// Runs in a front thread. Owns what each path does.

import { InvokeBody, PinBody } from '../contract/api.js';
import { type BotAction, BotActionsBody, CreateBotBody, UpdateBotBody } from '../contract/bots.js';
import type { Config } from '../contract/config.js';
import type { JsonObject } from '../contract/events.js';
import type { NameHasher } from '../contract/name-hash.js';
import type { Rpc } from '../contract/rpc.js';
import type { ControlMethods, FrontMethods } from '../contract/threads.js';
import { DroverError, type ErrorCode } from '../errors.js';
import type { QuotaLimits, StreamQuota } from '../shm/stream-quota.js';
import { emptyAnswer, jsonAnswer, secretAnswer } from './answers.js';
import type { Authenticator, Caller } from './auth.js';
import type { Answer, Exchange, FixedAnswers } from './engine/engine.js';
import type { Fanout } from './fanout.js';
import { parseFilter } from './filter.js';
import { type CallerHandler, Front } from './front.js';
import { type BodyLimits, jsonBody } from './json-body.js';
import type { PinExchange } from './pin-exchange.js';
import { queryPairs, queryValues } from './query.js';
import type { RouteMethods } from './router.js';
import type { SnapshotMirror } from './snapshot-mirror.js';
import { retryLine } from './stream-text.js';
import type { Subscriber } from './subscriber.js';

/** What the routes work with. */
export interface FrontParts {
  config: Config;
  auth: Authenticator;
  pin: PinExchange;
  mirror: SnapshotMirror;
  /** Calls `task` when the mirror holds all that is published. */
  whenCurrent: (task: () => void) => void | Promise<void>;
  fanout: Fanout;
  quota: StreamQuota;
  names: NameHasher;
  control: Rpc<FrontMethods, ControlMethods>;
  /** The port that clients see. */
  port: () => number;
}

/** What monitors ask for many times a second, and what asks for no thought. */
const HEALTHY: Answer = { status: 200, headers: ['Content-Type', 'text/plain'], body: 'ok' };
const STREAM_HEADERS = [
  'Content-Type',
  'text/event-stream',
  'Cache-Control',
  'no-cache, no-transform',
  // nginx and others would collect the stream before they pass it on.
  'X-Accel-Buffering',
  'no',
];
export const FIXED_ANSWERS: FixedAnswers = new Map([['/health', HEALTHY]]);
/** The name of tokens that were made with the PIN. */
const PIN_TOKEN_NAME = 'pin';

/** The front with all of its routes. */
export function createFront(parts: FrontParts): Front {
  const limits: BodyLimits = {
    maxBytes: parts.config.http.max_body_bytes,
    timeoutMs: parts.config.http.body_timeout_ms,
  };
  const readPin = jsonBody(PinBody);
  const readBot = jsonBody(CreateBotBody);
  const readUpdate = jsonBody(UpdateBotBody);
  const readActions = jsonBody(BotActionsBody);
  const readInvoke = jsonBody(InvokeBody);
  const bots = new BotList(parts.mirror);

  const answerBot = (exchange: Exchange, id: string, status = 200): void | Promise<void> =>
    parts.whenCurrent(() => exchange.answer(jsonAnswer(bots.one(id), status)));
  /** An operation on one bot; it takes no body, and answers with the snapshot when it is done. */
  const act = (action: BotAction): RouteMethods<CallerHandler> => ({
    async POST(exchange, _, [id = '']) {
      await parts.control.call('actOnBot', { id, action });
      await answerBot(exchange, id);
    },
  });
  const answerIncidents = async (exchange: Exchange, bot: string | null): Promise<void> => {
    const limit = limitOf(exchange.query);
    const output = await parts.control.call('incidents', { bot, limit });
    exchange.answer(jsonAnswer(JSON.stringify(output)));
  };

  return new Front(parts.auth)
    .open('/health', { GET: (exchange) => exchange.answer(HEALTHY) })
    .open('/auth/pin', {
      async POST(exchange) {
        const { pin } = await readPin(exchange, limits);
        parts.pin.check(pin);
        const { token } = await parts.control.call('createToken', { name: PIN_TOKEN_NAME });
        exchange.answer(secretAnswer(JSON.stringify({ token })));
      },
    })
    .authenticated('/api-info', {
      GET(exchange, { token }) {
        exchange.answer(secretAnswer(`{"port":${parts.port()},"token":${JSON.stringify(token)}}`));
      },
    })
    .authenticated('/events', { GET: (exchange, caller) => openStream(exchange, caller, parts) })
    .authenticated('/api/bots', {
      GET(exchange) {
        const { query } = exchange;
        return parts.whenCurrent(() => exchange.answer(jsonAnswer(bots.list(query))));
      },
      async POST(exchange) {
        const body = await readBot(exchange, limits);
        await parts.control.call('createBot', body);
        await answerBot(exchange, body.id, 201);
      },
    })
    .authenticated('/api/bots/actions', {
      async POST(exchange) {
        const body = await readActions(exchange, limits);
        const output = await parts.control.call('actOnBots', body);
        exchange.answer(jsonAnswer(JSON.stringify(output)));
      },
    })
    .authenticated('/api/bots/{id}', {
      GET: (exchange, _, [id = '']) => answerBot(exchange, id),
      async PATCH(exchange, _, [id = '']) {
        const change = await readUpdate(exchange, limits);
        await parts.control.call('updateBot', { id, change });
        await answerBot(exchange, id);
      },
      async DELETE(exchange, _, [id = '']) {
        await parts.control.call('actOnBot', { id, action: 'delete' });
        exchange.answer(emptyAnswer(204));
      },
    })
    .authenticated('/api/bots/{id}/start', act('start'))
    .authenticated('/api/bots/{id}/stop', act('stop'))
    .authenticated('/api/bots/{id}/restart', act('restart'))
    .authenticated('/api/bots/{id}/config', {
      async GET(exchange, _, [id = '']) {
        exchange.answer(jsonAnswer(JSON.stringify(await parts.control.call('botConfig', { id }))));
      },
    })
    .authenticated('/api/bots/{id}/incidents', {
      async GET(exchange, _, [id = '']) {
        bots.one(id);
        await answerIncidents(exchange, id);
      },
    })
    .authenticated('/api/incidents', { GET: (exchange) => answerIncidents(exchange, null) })
    .authenticated('/api/kinds', {
      async GET(exchange) {
        exchange.answer(jsonAnswer(JSON.stringify(await parts.control.call('kinds', null))));
      },
    })
    .authenticated('/invoke', {
      async POST(exchange) {
        const body = await readInvoke(exchange, limits);
        const input = { ...body, args: body.args as JsonObject };
        const output = await parts.control.cancellableCall('invoke', input, exchange.gone());
        exchange.answer(jsonAnswer(JSON.stringify(output)));
      },
    });
}

function openStream(exchange: Exchange, caller: Caller, parts: FrontParts): void {
  const { config, fanout, names, quota } = parts;
  const pairs = queryPairs(exchange.query);
  const filter = parseFilter(pairs, names);
  const value = (name: string): string => pairs.find(([key]) => key === name)?.[1] ?? '';
  if (exchange.method === 'HEAD') {
    exchange.answer({ status: 200, headers: STREAM_HEADERS, body: '' });
    return;
  }
  const token = names.of(`token ${caller.record.id}`);
  const address = names.of(`address ${exchange.address}`);
  const exceeded = quota.acquire(token, address);
  if (exceeded) throw new DroverError(...REFUSALS[exceeded]);
  const options = {
    filter,
    opening: retryLine(config.stream.retry_ms, Math.random()),
    // The header is what a browser sends when it reconnects, to the same URL: it is the newer one.
    lastEventId: exchange.header('last-event-id') || value('last_event_id'),
    snapshots: value('snapshot') !== '0',
    removed: () => quota.release(token, address),
  };
  let subscriber: Subscriber | undefined;
  const sink = exchange.stream(
    STREAM_HEADERS,
    () => subscriber && fanout.remove(subscriber),
    () => subscriber && fanout.writable(subscriber),
  );
  subscriber = fanout.add(sink, options);
}

const REFUSALS: Record<keyof QuotaLimits, [ErrorCode, string]> = {
  total: ['unavailable', 'too many streams are open'],
  perToken: ['too_many', 'too many streams are open with this token'],
  perAddress: ['too_many', 'too many streams are open from this address'],
};

/** `?limit=`, 1 to 1,000, 100 when left out. */
function limitOf(query: string): number {
  const [text = '100'] = queryValues(query, 'limit');
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 1000) {
    throw new DroverError('bad_request', 'limit must be a whole number from 1 to 1000');
  }
  return limit;
}

/** Snapshots as REST shows them. To be asked when the mirror is current. */
class BotList {
  readonly #mirror: SnapshotMirror;
  #version = -1;
  #body: Uint8Array = new Uint8Array();

  constructor(mirror: SnapshotMirror) {
    this.#mirror = mirror;
  }

  one(id: string): string {
    const session = this.#mirror.get(id);
    if (!session) throw new DroverError('not_found', `no bot ${JSON.stringify(id)}`);
    return JSON.stringify(session.snapshot);
  }

  /** `?status=` and `?kind=`, each repeated or comma-separated. */
  list(query: string): Uint8Array {
    const pairs = queryPairs(query);
    const statuses = wanted(pairs, 'status');
    const kinds = wanted(pairs, 'kind');
    if (!statuses && !kinds) {
      if (this.#version !== this.#mirror.version) {
        this.#body = this.#build(() => true);
        this.#version = this.#mirror.version;
      }
      return this.#body;
    }
    return this.#build(
      ({ status, kind }) => (statuses?.has(status) ?? true) && (kinds?.has(kind) ?? true),
    );
  }

  #build(matches: (snapshot: { status: string; kind: string }) => boolean): Uint8Array {
    const shown: string[] = [];
    for (const { snapshot, eventJson } of this.#mirror.all()) {
      // What stands in a session event behind `{"snapshot":` and before the last brace is the snapshot.
      if (matches(snapshot)) shown.push(eventJson.slice('{"snapshot":'.length, -1));
    }
    return Buffer.from(`{"bots":[${shown.join(',')}]}`);
  }
}

function wanted(
  pairs: readonly (readonly [string, string])[],
  name: string,
): Set<string> | undefined {
  const values = pairs.filter(([key]) => key === name).flatMap(([, value]) => value.split(','));
  return values.length === 0 ? undefined : new Set(values);
}
