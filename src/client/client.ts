// Runs in clients, in Node and in browsers. Owns a typed call for each route of docs/API.md.

import type { InvokeOutcome } from '../shared/contract/api.js';
import type { Incident, LoadedKinds } from '../shared/contract/bots.js';
import type { Json, JsonObject } from '../shared/contract/events.js';
import type { PressureReport } from '../shared/contract/pressure.js';
import { ApiError } from './api-error.js';
import { BotCalls, botPath } from './bot-calls.js';
import { eventsIn } from './download.js';
import { type EventFilter, filterQuery } from './event-filter.js';
import { EventStream, type StreamOptions } from './event-stream.js';
import type { DownloadQuery, EventsPage, EventsQuery, Stats, StatsQuery } from './history.js';
import { type CallOptions, expectType, type Fetch, Http } from './http.js';
import { EVENT, INCIDENT, KINDS, PRESSURE } from './response-shapes.js';
import type { StreamEvent } from './stream-events.js';
import { TokenCalls } from './token-calls.js';

export interface DroverClientOptions {
  /** Where the service is, for example `http://localhost:8090`; a path in front of its own is kept. */
  url: string;
  /** Without one only `health`, `exchangePin` and `openapi` are answered. */
  token?: string | undefined;
  /** Instead of the platform's own. */
  fetch?: Fetch | undefined;
}

export interface LiveOptions extends EventFilter, StreamOptions {
  /** False leaves out the snapshots at the beginning. */
  snapshot?: boolean | undefined;
}

/** Calls to one service. Every call rejects with ApiError, or with the reason of its own signal. */
export class DroverClient {
  readonly bots: BotCalls;
  readonly tokens: TokenCalls;
  readonly #http: Http;

  /** @throws TypeError when `url` is no http or https URL. */
  constructor({ url, token, fetch }: DroverClientOptions) {
    this.#http = new Http(url, token, fetch);
    this.bots = new BotCalls(this.#http);
    this.tokens = new TokenCalls(this.#http);
  }

  get url(): string {
    return this.#http.url;
  }

  get token(): string | undefined {
    return this.#http.token;
  }

  /** The same service with another token. */
  withToken(token: string | undefined): DroverClient {
    const http = this.#http;
    return new DroverClient({ url: http.url, token, fetch: http.fetch });
  }

  /** `GET /health`: resolves when the service is there. */
  async health(options?: CallOptions): Promise<void> {
    const response = await this.#http.send('GET', '/health', options);
    if ((await this.#http.text(response, options?.signal)) === 'ok') return;
    const message = `${this.url} does not answer GET /health as a Drover service does`;
    throw new ApiError(response.status, message, { isForeign: true });
  }

  /** `POST /auth/pin`. @returns a token with the scope `admin`. A wrong PIN is 401; 429 says when the next try may be. */
  async exchangePin(pin: string, options?: CallOptions): Promise<string> {
    const request = { ...options, body: { pin } };
    return this.#http.part('POST', '/auth/pin', 'token', 'string', request);
  }

  /** `POST /auth/ticket`: for one `GET /events?ticket=`, within 30 s. */
  async ticket(options?: CallOptions): Promise<{ ticket: string; expires_at_ms: number }> {
    return this.#http.json('POST', '/auth/ticket', {
      ...options,
      shape: { ticket: 'string', expires_at_ms: 'number' },
    });
  }

  /** `GET /api-info`: whether the token is good, and the port. */
  async apiInfo(options?: CallOptions): Promise<{ port: number; token: string }> {
    return this.#http.json('GET', '/api-info', {
      ...options,
      shape: { port: 'number', token: 'string' },
    });
  }

  /** `GET /api/kinds`. */
  async kinds(options?: CallOptions): Promise<LoadedKinds> {
    return this.#http.json('GET', '/api/kinds', { ...options, shape: KINDS });
  }

  /** `GET /api/pressure`; that something is short is no error here. */
  async pressure(options?: CallOptions): Promise<PressureReport> {
    return this.#http.json('GET', '/api/pressure', { ...options, accept: [503], shape: PRESSURE });
  }

  /** `GET /api/incidents`, newest first, or those of one bot. */
  async incidents({
    bot,
    limit,
    ...options
  }: CallOptions & { bot?: string; limit?: number } = {}): Promise<Incident[]> {
    const path = bot === undefined ? '/api/incidents' : `${botPath(bot)}/incidents`;
    return this.#http.part('GET', path, 'incidents', [INCIDENT], { ...options, query: { limit } });
  }

  /** `POST /invoke`: a command to one bot, or with null to the service itself. @returns its result. */
  async invoke(
    target: string | null,
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Json> {
    const body = { session_id: target, command, args };
    return this.#http.part('POST', '/invoke', 'result', 'anything', { ...options, body });
  }

  /** `POST /invoke` to up to 1,000 bots. @returns of each its result or its error. */
  async invokeMany(
    targets: readonly string[],
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Record<string, InvokeOutcome>> {
    const body = { session_id: targets, command, args };
    return this.#http.part('POST', '/invoke', 'results', 'object', { ...options, body });
  }

  /** `GET /api/events`: one page of the past. */
  async events(query: EventsQuery & CallOptions = {}): Promise<EventsPage> {
    const { order, after, before, q, limit, cursor, signal } = query;
    const filter = filterQuery(query);
    return this.#http.json('GET', '/api/events', {
      signal,
      query: { ...filter, order, after, before, q, limit, cursor },
      shape: { events: [EVENT], cursor: 'anything' },
    });
  }

  /**
   * `GET /api/events?format=ndjson`: all of the past that fits, oldest first, event by event as it arrives. Who leaves the
   * loop ends it; what the service cannot finish ends with an ApiError.
   */
  async *download(
    query: DownloadQuery & CallOptions = {},
  ): AsyncGenerator<StreamEvent, void, undefined> {
    const { order, after, before, q, signal } = query;
    const response = await this.#http.send('GET', '/api/events', {
      signal,
      query: { ...filterQuery(query), order, after, before, q, format: 'ndjson' },
    });
    expectType(response, 'application/x-ndjson', 'GET /api/events');
    try {
      for await (const events of eventsIn(this.#http.pieces(response, signal))) yield* events;
    } catch (cause) {
      if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
      throw new ApiError(0, `the download is damaged: ${cause.message}`, { cause });
    }
  }

  /** `GET /metrics`: the figures of the service, in the text format of Prometheus. */
  async metrics(options?: CallOptions): Promise<string> {
    const response = await this.#http.send('GET', '/metrics', options);
    expectType(response, 'text/plain', 'GET /metrics');
    return this.#http.text(response, options?.signal);
  }

  /** `GET /openapi.json`: the API in OpenAPI 3.1; it needs no token. */
  async openapi(options?: CallOptions): Promise<JsonObject> {
    return this.#http.json('GET', '/openapi.json', {
      ...options,
      shape: { openapi: 'string', paths: 'object' },
    });
  }

  /** `GET /api/stats`: how much there was, over time. */
  async stats({ after, before, step, signal }: StatsQuery & CallOptions = {}): Promise<Stats> {
    return this.#http.json('GET', '/api/stats', {
      signal,
      query: { after, before, step },
      shape: { buckets: ['object'], step_s: 'number', journal: 'object' },
    });
  }

  /** `GET /events`: the live stream, over as many connections as it takes. Nothing is asked for until it is read. */
  stream(options: LiveOptions = {}): EventStream {
    const query = { ...filterQuery(options), snapshot: options.snapshot === false ? 0 : undefined };
    return new EventStream((lastEventId, signal) => {
      const headers: Record<string, string> = {};
      if (lastEventId !== null) headers['last-event-id'] = lastEventId;
      return this.#http.send('GET', '/events', { query, headers, signal });
    }, options);
  }
}
