import { ApiError } from './api-error.js';
import { hasShape, type Shape } from './response-shapes.js';

/** The options that the client passes to `fetch`. */
export interface FetchInit {
  method: Method;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  cache: 'no-store';
}

/** `fetch` or a replacement. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** A query parameter. A list is sent comma-separated; undefined is omitted. */
export type QueryValue = string | number | readonly string[] | undefined;

export interface CallOptions {
  /** Aborts the call, which then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface Request extends CallOptions {
  query?: Readonly<Record<string, QueryValue>>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Statuses above 299 that are not errors of this call. */
  accept?: readonly number[];
}

/** A request with a JSON response of the given shape. */
export interface JsonRequest extends Request {
  shape: Shape;
}

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
   * Sends a request. @returns a response of 2xx, or of a status that the request accepts, with its body unread.
   * @throws ApiError, or the signal's reason if it was aborted.
   */
  async send(method: Method, path: string, request: Request = {}): Promise<Response> {
    const { signal, body } = request;
    const headers: Record<string, string> = { ...request.headers };
    if (this.token !== undefined) headers['authorization'] = `Bearer ${this.token}`;
    const init: FetchInit = { method, headers, cache: 'no-store' };
    if (signal) init.signal = signal;
    if (body !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(body);
    }
    const target = `${this.url}${path}${queryString(request.query ?? {})}`;
    const response = await this.#orApiError(signal, () => this.fetch(target, init));
    if (response.ok || request.accept?.includes(response.status)) return response;
    throw await this.#errorOf(response, signal);
  }

  /** The JSON body of the response. @throws like {@link send}. */
  async json<T>(method: Method, path: string, request: JsonRequest): Promise<T> {
    const response = await this.send(method, path, request);
    const text = await this.text(response, request.signal);
    const fail = (what: string, cause?: unknown): never => {
      const why = `${this.url} answered ${method} ${path} with ${what}`;
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
    return body as T;
  }

  /** One field of the JSON body of the response. @throws like {@link send}. */
  async field<T>(
    method: Method,
    path: string,
    name: string,
    shape: Shape,
    request: Request = {},
  ): Promise<T> {
    const whole = { ...request, shape: { [name]: shape } };
    return (await this.json<Record<string, T>>(method, path, whole))[name] as T;
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

function queryString(query: Readonly<Record<string, QueryValue>>): string {
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
