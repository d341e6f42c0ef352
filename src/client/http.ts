import type {
  AnswerOf,
  BodyOf,
  GivenQuery,
  PathOf,
  RouteName,
} from '../shared/contract/routes/table.js';
import { ApiError } from './api-error.js';
import { hasShape, type Shape } from './response-shapes.js';

/** The options that the client passes to `fetch`. */
export interface FetchInit {
  method: string;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  cache: 'no-store';
}

/** `fetch` or a replacement. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A request of a route in the table of routes. */
export interface Request<R extends RouteName> extends CallOptions {
  /** Lists are sent comma-separated; undefined is omitted. */
  query?: GivenQuery<R>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. Fields that have a default may be missing. */
  body?: Partial<BodyOf<R>>;
  /** Sent as NDJSON, in place of a body. */
  lines?: string;
  /** Statuses above 299 that are not errors of this call. */
  accept?: readonly number[];
}

/** A request with a JSON response of the given shape. */
export interface JsonRequest<R extends RouteName> extends Request<R> {
  shape: Shape;
}

/** A field of an answer, also of one of several kinds. */
type FieldOf<Answer, Name extends string> = Answer extends { readonly [N in Name]: infer Value }
  ? Value
  : never;

/** HTTP requests to one service, with one token or none. */
export class Http {
  /** Without a trailing slash. */
  readonly url: string;
  readonly token: string | undefined;
  readonly fetch: Fetch;

  /** @throws TypeError if `url` is not an http or https URL. */
  constructor(url: string, token: string | undefined, fetch: Fetch | undefined) {
    this.url = baseUrl(url);
    this.token = token;
    // Called as `globalThis.fetch`: browsers reject a `fetch` that is detached from its window.
    this.fetch = fetch ?? ((target, init) => globalThis.fetch(target, init));
  }

  /**
   * Sends a request. @param path the values of the placeholders in the path of the route. @returns a response of 2xx, or of a status that the request accepts, with its body unread.
   * @throws ApiError, or the signal's reason if it was aborted.
   */
  async send<R extends RouteName>(
    route: R,
    path: PathOf<R>,
    request: Request<R> = {},
  ): Promise<Response> {
    const { signal, body, lines } = request;
    const { method, target } = requestOf(route, path);
    const headers: Record<string, string> = { ...request.headers };
    if (this.token !== undefined) headers['authorization'] = `Bearer ${this.token}`;
    const init: FetchInit = { method, headers, cache: 'no-store' };
    if (signal) init.signal = signal;
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(body);
    } else if (lines !== undefined) {
      headers['content-type'] = 'application/x-ndjson';
      init.body = lines;
    }
    const url = `${this.url}${target}${queryString(request.query ?? {})}`;
    const response = await this.#orApiError(signal, () => this.fetch(url, init));
    if (response.ok || request.accept?.includes(response.status)) return response;
    throw await this.#errorOf(response, signal);
  }

  /** The JSON body of the response. @throws like {@link send}. */
  async json<R extends RouteName>(
    route: R,
    path: PathOf<R>,
    request: JsonRequest<R>,
  ): Promise<AnswerOf<R>> {
    const response = await this.send(route, path, request);
    const text = await this.text(response, request.signal);
    const fail = (what: string, cause?: unknown): never => {
      const { method, target } = requestOf(route, path);
      const why = `${this.url} answered ${method} ${target} with ${what}`;
      throw new ApiError(response.status, why, { isForeign: true, cause });
    };
    let body: unknown;
    try {
      body = JSON.parse(text);
    } catch (cause) {
      fail('a body that is not JSON; is it a Drover service?', cause);
    }
    // A response with an accepted status can still be an error.
    const error = response.ok ? undefined : errorMessageIn(text);
    if (error !== undefined) throw new ApiError(response.status, error);
    if (!hasShape(body, request.shape)) fail('a body that no Drover service of this version sends');
    return body as AnswerOf<R>;
  }

  /** One field of the JSON body of the response. @throws like {@link send}. */
  async field<R extends RouteName, N extends string>(
    route: R,
    path: PathOf<R>,
    name: N,
    shape: Shape,
    request: Request<R> = {},
  ): Promise<FieldOf<AnswerOf<R>, N>> {
    const answer = await this.json(route, path, { ...request, shape: { [name]: shape } });
    return (answer as Record<N, FieldOf<AnswerOf<R>, N>>)[name];
  }

  /** The body of a response. @throws like {@link send}. */
  text(response: Response, signal: AbortSignal | undefined): Promise<string> {
    return this.#orApiError(signal, () => response.text());
  }

  /** The body of a response as it arrives; leaving the loop cancels it. @throws like {@link send}. */
  async *chunks(
    response: Response,
    signal: AbortSignal | undefined,
  ): AsyncGenerator<string, void, undefined> {
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        yield decoder.decode(value, { stream: true });
      }
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ApiError(0, `the response of ${this.url} was cut off: ${reasonOf(cause)}`, {
        cause,
      });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  async #errorOf(response: Response, signal: AbortSignal | undefined): Promise<ApiError> {
    const { status } = response;
    const text = await this.text(response, signal);
    const error = errorMessageIn(text);
    const message = error ?? `${this.url} answered ${status}, but not like a Drover service`;
    const after = Number(response.headers.get('retry-after') ?? Number.NaN);
    const retryAfterMs = after >= 0 ? after * 1000 : undefined;
    return new ApiError(status, message, { retryAfterMs, isForeign: error === undefined });
  }

  async #orApiError<T>(signal: AbortSignal | undefined, task: () => Promise<T>): Promise<T> {
    try {
      return await task();
    } catch (cause) {
      signal?.throwIfAborted();
      throw new ApiError(0, `no answer from ${this.url}: ${reasonOf(cause)}`, { cause });
    }
  }
}

/** @throws ApiError if the response has another content type. */
export function expectType(response: Response, wanted: string, call: string): void {
  const type = response.headers.get('content-type') ?? 'no content type';
  if (type.startsWith(wanted)) return;
  const message = `${call} was answered with ${type}, not ${wanted}`;
  throw new ApiError(response.status, message, { isForeign: true });
}

/** Why a fetch failed, in one line. Node gives the reason as a cause, browsers give none. */
export function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return String(cause);
  // The message of an AggregateError (a host name with several addresses) is in its errors.
  const [first] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [];
  const text = cause.message || (first instanceof Error ? first.message : cause.name);
  // OpenSSL wraps the reason in source positions.
  const [, reason = text] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return reason.replace(/\s*[\r\n]+\s*/g, ' ');
}

function baseUrl(url: string): string {
  const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isUrl) {
    throw new TypeError(
      `${JSON.stringify(url)} is not an http or https URL; use for example http://localhost:8090`,
    );
  }
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname.replace(/\/+$/, '')}`;
}

function requestOf(route: RouteName, path: readonly string[]): { method: string; target: string } {
  const [method = '', template = ''] = route.split(' ');
  const values = path.values();
  const target = template.replace(/\{\w+\}/g, () => encodeURIComponent(values.next().value ?? ''));
  return { method, target };
}

function queryString(query: object): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encodeURIComponent(String(value))}`],
  );
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`;
}

function errorMessageIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
