import type { InvokeOutcome } from '../shared/contract/api.js';
import type { Incident, KindList, KindReleased, ReloadedKinds } from '../shared/contract/bots.js';
import type { FleetBody, FleetExport, FleetPlan } from '../shared/contract/fleet.js';
import type { HostList } from '../shared/contract/hosts.js';
import type { IncidentGroups } from '../shared/contract/incident-groups.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import type { ClusterNode, NodeAction, NodeList } from '../shared/contract/nodes.js';
import type { PressureReport } from '../shared/contract/pressure.js';
import type { GivenQuery } from '../shared/contract/routes/table.js';
import type { RunList } from '../shared/contract/runs.js';
import type { LinkOffer } from '../shared/contract/tokens.js';
import { ApiError } from './api-error.js';
import { BotCalls } from './bot-calls.js';
import { eventsIn } from './download.js';
import type { EventFilter } from './event-filter.js';
import { EventStream, type StreamOptions } from './event-stream.js';
import type {
  ActivityQuery,
  DownloadQuery,
  EventsPage,
  EventsQuery,
  IncidentGroupsQuery,
  PastStates,
  Stats,
  StatsQuery,
} from './history.js';
import { type CallOptions, expectType, type Fetch, Http } from './http.js';
import { OperationCalls } from './operation-calls.js';
import {
  EVENT,
  FLEET_EXPORT,
  FLEET_PLAN,
  HOSTS,
  INCIDENT,
  INCIDENT_GROUPS,
  KINDS,
  NODE,
  NODES,
  PRESSURE,
  RUNS,
  TOKEN,
} from './response-shapes.js';
import { RuleCalls } from './rule-calls.js';
import type { StreamEvent } from './stream-events.js';
import { type NewToken, TokenCalls } from './token-calls.js';

export interface DroverClientOptions {
  /** Base URL of the service, for example `http://localhost:8090`. May include a path prefix. */
  url: string;
  /** Without a token only `health`, `exchangePin`, `checkLink`, `useLink` and `openapi` work. */
  token?: string | undefined;
  /** Replaces the platform's `fetch`. */
  fetch?: Fetch | undefined;
}

export interface LiveOptions extends EventFilter, StreamOptions {
  /** False omits the initial snapshots. */
  snapshot?: boolean | undefined;
}

/** A client of one service: a typed call for each route of docs/API.md. Calls reject with ApiError, or with the reason of their signal. */
export class DroverClient {
  readonly bots: BotCalls;
  readonly operations: OperationCalls;
  readonly tokens: TokenCalls;
  readonly rules: RuleCalls;
  readonly #http: Http;

  /** @throws TypeError if `url` is not an http or https URL. */
  constructor({ url, token, fetch }: DroverClientOptions) {
    this.#http = new Http(url, token, fetch);
    this.bots = new BotCalls(this.#http);
    this.operations = new OperationCalls(this.#http);
    this.tokens = new TokenCalls(this.#http);
    this.rules = new RuleCalls(this.#http);
  }

  get url(): string {
    return this.#http.url;
  }

  get token(): string | undefined {
    return this.#http.token;
  }

  /** A client of the same service with another token. */
  withToken(token: string | undefined): DroverClient {
    const http = this.#http;
    return new DroverClient({ url: http.url, token, fetch: http.fetch });
  }

  /** `GET /health`: resolves if the service is up. */
  async health(options?: CallOptions): Promise<void> {
    const response = await this.#http.send('GET /health', [], options);
    if ((await this.#http.text(response, options?.signal)) === 'ok') return;
    const message = `${this.url} did not answer GET /health like a Drover service`;
    throw new ApiError(response.status, message, { isForeign: true });
  }

  /** `POST /auth/pin`. @param options `name` is who signs in. @returns a token with the scope `admin`. A wrong PIN is 401; after too many, 429 with `retryAfterMs`. */
  async exchangePin(
    pin: string,
    { name, ...options }: CallOptions & { name?: string | undefined } = {},
  ): Promise<string> {
    const request = { ...options, body: { pin, ...(name !== undefined && { name }) } };
    return this.#http.field('POST /auth/pin', [], 'token', 'string', request);
  }

  /** `POST /auth/link/check`: what a sign-in link gives. It stays valid. One that is not valid is 401. */
  async checkLink(link: string, options?: CallOptions): Promise<LinkOffer> {
    return this.#http.json('POST /auth/link/check', [], {
      ...options,
      body: { link },
      shape: { created_by: 'string', name: 'string', scopes: ['string'] },
    });
  }

  /** `POST /auth/link`: uses a sign-in link up. One that is not valid is 401. */
  async useLink(link: string, options?: CallOptions): Promise<NewToken> {
    return this.#http.json('POST /auth/link', [], {
      ...options,
      body: { link },
      shape: { ...TOKEN, token: 'string' },
    });
  }

  /** `POST /auth/ticket`: a ticket for one `GET /events?ticket=`, valid for 30 s. */
  async ticket(options?: CallOptions): Promise<{ ticket: string; expires_at_ms: number }> {
    return this.#http.json('POST /auth/ticket', [], {
      ...options,
      shape: { ticket: 'string', expires_at_ms: 'number' },
    });
  }

  /** `GET /api-info`: the port. Rejects if the token is invalid. */
  async apiInfo(options?: CallOptions): Promise<{ port: number; token: string }> {
    return this.#http.json('GET /api-info', [], {
      ...options,
      shape: { port: 'number', token: 'string' },
    });
  }

  /** `GET /api/kinds`. */
  async kinds(options?: CallOptions): Promise<KindList> {
    return this.#http.json('GET /api/kinds', [], { ...options, shape: KINDS });
  }

  /** `POST /api/kinds/{kind}/reload`, or without a kind `POST /api/kinds/reload`: bots start with what is on the disk from now on. */
  async reloadKinds(kind?: string, options?: CallOptions): Promise<ReloadedKinds> {
    const shape = { kinds: ['object'] } as const;
    return kind === undefined
      ? this.#http.json('POST /api/kinds/reload', [], { ...options, shape })
      : this.#http.json('POST /api/kinds/{kind}/reload', [kind], { ...options, shape });
  }

  /** `POST /api/kinds/{kind}/release`: ends the quarantine of a kind. @returns how many bots start again, and the nodes of a cluster that did not answer. */
  async releaseKind(kind: string, options?: CallOptions): Promise<KindReleased> {
    return this.#http.json('POST /api/kinds/{kind}/release', [kind], {
      ...options,
      shape: { started: 'number' },
    });
  }

  /** `POST /api/fleet/{name}`: brings bots to what a fleet says, or with `dry_run` says what that would change. */
  async applyFleet(
    name: string,
    fleet: Partial<FleetBody>,
    options?: CallOptions,
  ): Promise<FleetPlan> {
    const request = { ...options, body: fleet, shape: FLEET_PLAN };
    return this.#http.json('POST /api/fleet/{name}', [name], request);
  }

  /** `GET /api/fleet`: bots as a fleet file has them, with variables in place of secrets. */
  async exportFleet({
    signal,
    ...query
  }: CallOptions & GivenQuery<'GET /api/fleet'> = {}): Promise<FleetExport> {
    const request = { signal, query, shape: FLEET_EXPORT };
    return this.#http.json('GET /api/fleet', [], request);
  }

  /** `GET /api/pressure`. Its 503 (a resource is short) is not an error here. */
  async pressure(options?: CallOptions): Promise<PressureReport> {
    return this.#http.json('GET /api/pressure', [], {
      ...options,
      accept: [503],
      shape: PRESSURE,
    });
  }

  /** `GET /api/hosts`: the bot hosts, with heartbeat, load and memory. */
  async hosts(options?: CallOptions): Promise<HostList> {
    return this.#http.json('GET /api/hosts', [], { ...options, shape: HOSTS });
  }

  /** `GET /api/runs`: the files of runs that the service has. */
  async runs(options?: CallOptions): Promise<RunList> {
    return this.#http.json('GET /api/runs', [], { ...options, shape: RUNS });
  }

  /**
   * `GET /api/runs/{name}`: a part of a file. @param from where to begin, in bytes. @returns up to 4 MB; empty at the end of the
   * file.
   */
  async runPart(name: string, from: number, options?: CallOptions): Promise<Uint8Array> {
    const request = { ...options, query: { from } };
    const response = await this.#http.send('GET /api/runs/{name}', [name], request);
    return new Uint8Array(await response.arrayBuffer());
  }

  /** `GET /api/nodes`: the nodes of the cluster; a single service has none. */
  async nodes(options?: CallOptions): Promise<NodeList> {
    return this.#http.json('GET /api/nodes', [], { ...options, shape: NODES });
  }

  /** `POST /api/nodes/{node}/{action}`. @returns the node as it is then: a drain has begun, and its bots move from now on. */
  async actOnNode(node: string, action: NodeAction, options?: CallOptions): Promise<ClusterNode> {
    return this.#http.json(`POST /api/nodes/{node}/${action}`, [node], { ...options, shape: NODE });
  }

  /** `DELETE /api/nodes/records/{bucket}/{key}`: removes what is no record; `bad_records` of {@link nodes} has it. */
  async removeRecord(bucket: string, key: string, options?: CallOptions): Promise<void> {
    const path = [bucket, key] as const;
    await this.#http.send('DELETE /api/nodes/records/{bucket}/{key}', path, options);
  }

  /** `POST /api/nodes/rebalance`. @returns how many bots move now. */
  async rebalance(options?: CallOptions): Promise<number> {
    return this.#http.field('POST /api/nodes/rebalance', [], 'moving', 'number', options);
  }

  /**
   * `DELETE /api/nodes/{node}`: removes a node that does not run from the cluster. @param query `bots`: what becomes of those that are on
   * it; without it a node that has bots is not removed.
   */
  async removeNode(
    node: string,
    { signal, ...query }: CallOptions & GivenQuery<'DELETE /api/nodes/{node}'> = {},
  ): Promise<void> {
    await this.#http.send('DELETE /api/nodes/{node}', [node], { signal, query });
  }

  /** `GET /api/incidents`, newest first; with `bot`, those of one bot, with `cause`, those of one cause. */
  async incidents({
    bot,
    signal,
    ...query
  }: CallOptions & GivenQuery<'GET /api/incidents'> & { bot?: string | undefined } = {}): Promise<
    Incident[]
  > {
    const request = { signal, query };
    return bot === undefined
      ? this.#http.field('GET /api/incidents', [], 'incidents', [INCIDENT], request)
      : this.#http.field('GET /api/bots/{id}/incidents', [bot], 'incidents', [INCIDENT], request);
  }

  /** `GET /api/incidents/groups`, the latest first. */
  incidentGroups({
    signal,
    ...query
  }: CallOptions & IncidentGroupsQuery = {}): Promise<IncidentGroups> {
    const request = { signal, query, shape: INCIDENT_GROUPS };
    return this.#http.json('GET /api/incidents/groups', [], request);
  }

  /** `POST /invoke`: sends a command to one bot, or with null to the service itself. @returns its result. */
  async invoke(
    target: string | null,
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Json> {
    const body = { session_id: target, command, args };
    return this.#http.field('POST /invoke', [], 'result', 'anything', { ...options, body });
  }

  /** `POST /invoke` to up to 1,000 bots. @returns the result or error of each. */
  async invokeMany(
    targets: readonly string[],
    command: string,
    args: JsonObject = {},
    options?: CallOptions,
  ): Promise<Record<string, InvokeOutcome>> {
    const body = { session_id: [...targets], command, args };
    return this.#http.field('POST /invoke', [], 'results', 'object', { ...options, body });
  }

  /** `GET /api/events`: one page of the event history. */
  async events({ signal, ...query }: EventsQuery & CallOptions = {}): Promise<EventsPage> {
    const shape = { events: [EVENT], cursor: 'anything' } as const;
    return this.#http.json('GET /api/events', [], { signal, query, shape });
  }

  /** `GET /api/activity`: one page of what people and programs have done. */
  async activity({ signal, ...query }: ActivityQuery & CallOptions = {}): Promise<EventsPage> {
    const shape = { events: [EVENT], cursor: 'anything' } as const;
    return this.#http.json('GET /api/activity', [], { signal, query, shape });
  }

  /**
   * `GET /api/events?format=ndjson`: all matching events, oldest first by default, as they arrive. Leaving the loop ends the
   * download. An incomplete download throws ApiError.
   */
  async *download({
    signal,
    ...query
  }: DownloadQuery & CallOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    const request = { signal, query: { ...query, format: 'ndjson' as const } };
    const response = await this.#http.send('GET /api/events', [], request);
    expectType(response, 'application/x-ndjson', 'GET /api/events');
    try {
      for await (const events of eventsIn(this.#http.chunks(response, signal))) yield* events;
    } catch (cause) {
      if (!(cause instanceof SyntaxError || cause instanceof RangeError)) throw cause;
      throw new ApiError(0, `the download is damaged: ${cause.message}`, { cause });
    }
  }

  /** `GET /metrics`: the service's metrics in the Prometheus text format. */
  async metrics(options?: CallOptions): Promise<string> {
    const response = await this.#http.send('GET /metrics', [], options);
    expectType(response, 'text/plain', 'GET /metrics');
    return this.#http.text(response, options?.signal);
  }

  /** `GET /openapi.json`: the OpenAPI 3.1 description. Needs no token. */
  async openapi(options?: CallOptions): Promise<JsonObject> {
    return this.#http.json('GET /openapi.json', [], {
      ...options,
      shape: { openapi: 'string', paths: 'object' },
    });
  }

  /** `GET /api/stats`: event counts over time. */
  async stats({ signal, ...query }: StatsQuery & CallOptions = {}): Promise<Stats> {
    const shape = { buckets: ['object'], step_s: 'number', journal: 'object' } as const;
    return this.#http.json('GET /api/stats', [], { signal, query, shape });
  }

  /** `GET /api/states`: what each bot was at a moment. @param at Unix epoch milliseconds, or a date. */
  async states(at: number | string, { signal }: CallOptions = {}): Promise<PastStates> {
    return this.#http.json('GET /api/states', [], {
      signal,
      query: { at },
      shape: { at_ms: 'number', states: ['object'], unknown: ['string'] },
    });
  }

  /** `GET /events`: the live stream, with automatic reconnects. It connects when reading begins. */
  stream(options: LiveOptions = {}): EventStream {
    const { lastEventId, signal, onState, onHeartbeat, onGap, backoff, silenceMs, ...asked } =
      options;
    const { snapshot, ...filter } = asked;
    const query = { ...filter, ...(snapshot === false && { snapshot: '0' as const }) };
    const connect = (after: string | null, ended: AbortSignal): Promise<Response> => {
      const headers: Record<string, string> = after === null ? {} : { 'last-event-id': after };
      return this.#http.send('GET /events', [], { query, headers, signal: ended });
    };
    const own = { lastEventId, signal, onState, onHeartbeat, onGap, backoff, silenceMs };
    return new EventStream(connect, own);
  }
}
