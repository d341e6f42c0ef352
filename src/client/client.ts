// Runs in clients, in Node and in browsers. Owns a typed call for each route of docs/API.md.

import type { InvokeOutcome } from '../contract/api.js';
import type {
  ActionOutcome,
  BotAction,
  CreateBotBody,
  Incident,
  LoadedKinds,
  RestartPolicy,
  UpdateBotBody,
} from '../contract/bots.js';
import type { BotSnapshot, Json, JsonObject } from '../contract/events.js';
import type { PressureReport } from '../contract/pressure.js';
import type { CreateTokenBody, TokenInfo } from '../contract/tokens.js';
import { ApiError } from './api-error.js';
import { EventStream, type StreamOptions } from './event-stream.js';
import { type EventFilter, filterQuery } from './filter.js';
import type { EventsPage, EventsQuery, Stats, StatsQuery } from './history.js';
import { type CallOptions, type Fetch, Http, type Method, type Request } from './http.js';

export interface DroverClientOptions {
  /** Where the service is, for example `http://localhost:8090`; a path in front of its own is kept. */
  url: string;
  /** Without one only `health` and `exchangePin` are answered. */
  token?: string | undefined;
  /** Instead of the platform's own. */
  fetch?: Fetch | undefined;
}

/** What a bot is created from; what is left out has its default. */
export type NewBot = Pick<CreateBotBody, 'id' | 'kind'> &
  Partial<Omit<CreateBotBody, 'id' | 'kind'>>;

/** A token that was just made: the only time that it is shown. */
export type NewToken = TokenInfo & { token: string };

/** One action for many bots: by id, by label, or both. */
export interface BotActions {
  action: BotAction;
  ids?: string[];
  labels?: Record<string, string>;
}

export interface BotConfig {
  config: JsonObject;
  restart: RestartPolicy;
  dedicated: boolean;
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
    if ((await response.text()) !== 'ok') throw strange(response.status, this.url);
  }

  /** `POST /auth/pin`. @returns a token with the scope `admin`. A wrong PIN is 401; 429 says when the next try may be. */
  async exchangePin(pin: string, options?: CallOptions): Promise<string> {
    return this.#part('POST', '/auth/pin', 'token', { ...options, body: { pin } });
  }

  /** `POST /auth/ticket`: for one `GET /events?ticket=`, within 30 s. */
  async ticket(options?: CallOptions): Promise<{ ticket: string; expires_at_ms: number }> {
    return this.#http.json('POST', '/auth/ticket', options);
  }

  /** `GET /api-info`: whether the token is good, and the port. */
  async apiInfo(options?: CallOptions): Promise<{ port: number; token: string }> {
    return this.#http.json('GET', '/api-info', options);
  }

  /** `GET /api/kinds`. */
  async kinds(options?: CallOptions): Promise<LoadedKinds> {
    return this.#http.json('GET', '/api/kinds', options);
  }

  /** `GET /api/pressure`; that something is short is no error here. */
  async pressure(options?: CallOptions): Promise<PressureReport> {
    const report = await this.#http.json<PressureReport & { error?: string }>(
      'GET',
      '/api/pressure',
      { ...options, accept: [503] },
    );
    // What is overloaded says so with the same status.
    if (report.error !== undefined) throw new ApiError(503, report.error);
    return report;
  }

  /** `GET /api/incidents`, newest first, or those of one bot. */
  async incidents({
    bot,
    limit,
    ...options
  }: CallOptions & { bot?: string; limit?: number } = {}): Promise<Incident[]> {
    const path = bot === undefined ? '/api/incidents' : `${botPath(bot)}/incidents`;
    return this.#part('GET', path, 'incidents', { ...options, query: { limit } });
  }

  /** `POST /invoke`: a command to one bot, or with null to the service itself. @returns its result. */
  async invoke(
    target: string | null,
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Json> {
    const body = { session_id: target, command, args };
    return this.#part('POST', '/invoke', 'result', { ...options, body });
  }

  /** `POST /invoke` to up to 1,000 bots. @returns of each its result or its error. */
  async invokeMany(
    targets: readonly string[],
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Record<string, InvokeOutcome>> {
    const body = { session_id: targets, command, args };
    return this.#part('POST', '/invoke', 'results', { ...options, body });
  }

  /** `GET /api/events`: one page of the past. */
  async events(query: EventsQuery & CallOptions = {}): Promise<EventsPage> {
    const { order, after, before, q, limit, cursor, signal } = query;
    const filter = filterQuery(query);
    return this.#http.json('GET', '/api/events', {
      signal,
      query: { ...filter, order, after, before, q, limit, cursor },
    });
  }

  /** `GET /api/stats`: how much there was, over time. */
  async stats({ after, before, step, signal }: StatsQuery & CallOptions = {}): Promise<Stats> {
    return this.#http.json('GET', '/api/stats', { signal, query: { after, before, step } });
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

  #part<T>(method: Method, path: string, name: string, request: Request): Promise<T> {
    return part(this.#http, method, path, name, request);
  }
}

/** Calls about bots. */
class BotCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** `GET /api/bots`, those with one of these statuses and kinds. */
  async list({
    status,
    kind,
    signal,
  }: CallOptions & { status?: readonly string[]; kind?: readonly string[] } = {}): Promise<
    BotSnapshot[]
  > {
    return part(this.#http, 'GET', '/api/bots', 'bots', { signal, query: { status, kind } });
  }

  /** `POST /api/bots`: adds a bot and starts it. */
  async create(bot: NewBot, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', '/api/bots', { ...options, body: bot });
  }

  async get(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('GET', botPath(id), options);
  }

  /** `GET /api/bots/{id}/config`, without what is secret. */
  async config(id: string, options?: CallOptions): Promise<BotConfig> {
    return this.#http.json('GET', `${botPath(id)}/config`, options);
  }

  /** `PATCH /api/bots/{id}`: what is left out stays. */
  async update(id: string, change: UpdateBotBody, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('PATCH', botPath(id), { ...options, body: change });
  }

  /** `DELETE /api/bots/{id}`: stops it and forgets it. */
  async delete(id: string, options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE', botPath(id), options);
  }

  async start(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/start`, options);
  }

  async stop(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/stop`, options);
  }

  async restart(id: string, options?: CallOptions): Promise<BotSnapshot> {
    return this.#http.json('POST', `${botPath(id)}/restart`, options);
  }

  /** `POST /api/bots/actions`: one action for many. @returns of each its status or its error. */
  async act(actions: BotActions, options?: CallOptions): Promise<Record<string, ActionOutcome>> {
    const request = { ...options, body: actions };
    return part(this.#http, 'POST', '/api/bots/actions', 'results', request);
  }
}

/** Calls about tokens. */
class TokenCalls {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async list(options?: CallOptions): Promise<TokenInfo[]> {
    return part(this.#http, 'GET', '/api/tokens', 'tokens', { ...options });
  }

  async create(token: CreateTokenBody, options?: CallOptions): Promise<NewToken> {
    return this.#http.json('POST', '/api/tokens', { ...options, body: token });
  }

  async revoke(id: string, options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE', `/api/tokens/${encodeURIComponent(id)}`, options);
  }

  /** `DELETE /api/tokens/current`: the token of this client, whatever its scopes. */
  async revokeCurrent(options?: CallOptions): Promise<void> {
    await this.#http.send('DELETE', '/api/tokens/current', options);
  }
}

function botPath(id: string): string {
  return `/api/bots/${encodeURIComponent(id)}`;
}

/** One field of the answer; it must be there. */
async function part<T>(
  http: Http,
  method: Method,
  path: string,
  name: string,
  request: Request,
): Promise<T> {
  const body = await http.json<Record<string, T> | null>(method, path, request);
  const value = body?.[name];
  if (value === undefined) throw strange(200, http.url);
  return value;
}

function strange(status: number, url: string): ApiError {
  const message = `${url} does not answer as a Drover service of this version does`;
  return new ApiError(status, message, { isForeign: true });
}
