// Runs in clients, in Node and in browsers. Owns HTTP: how a request is put together, and what of its answer is an error.

import { ApiError } from './api-error.js';
import { hasShape, type Shape } from './shape.js';

/** What is asked of `fetch`. */
export interface FetchInit {
  method: Method;
  headers: Record<string, string>;
  body?: string;
  signal?: AbortSignal;
  cache: 'no-store';
}

/** `fetch`, or what stands for it. */
export type Fetch = (url: string, init: FetchInit) => Promise<Response>;

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A value of a query parameter; a list is sent comma-separated, what is undefined is left out. */
export type QueryValue = string | number | readonly string[] | undefined;

export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

export interface Request extends CallOptions {
  query?: Readonly<Record<string, QueryValue>>;
  headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. */
  body?: unknown;
  /** Statuses above 299 that are no error of this call. */
  accept?: readonly number[];
}

/** A request whose answer is JSON, and what that has to be. */
export interface JsonRequest extends Request {
  shape: Shape;
}

/** Calls to one service, with one token or none. */
export class Http {
  /** Without a slash at its end. */
  readonly url: string;
  readonly token: string | undefined;
  readonly fetch: Fetch;

  /** @throws TypeError when `url` is no http or https URL. */
  constructor(url: string, token: string | undefined, fetch: Fetch | undefined) {
    this.url = baseUrl(url);
    this.token = token;
    // Looked up at each call, and called as a function: browsers refuse a `fetch` that was taken off its window.
    this.fetch = fetch ?? ((target, init) => globalThis.fetch(target, init));
  }

  /**
   * Sends a request. @returns an answer of 2xx, or of a status that the request accepts, its body unread.
   * @throws ApiError; the signal's reason when it was aborted.
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

  /** The JSON body of an answer. @throws as {@link send}. */
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
      fail('something that is not JSON; is it a Drover service?', cause);
    }
    // An answer with one of the statuses that are accepted may be an error all the same.
    const said = response.ok ? undefined : messageIn(text);
    if (said !== undefined) throw new ApiError(response.status, said);
    if (!hasShape(body, request.shape)) fail('what no Drover service of this version answers');
    return body as T;
  }

  /** One field of the JSON body of an answer. @throws as {@link send}. */
  async part<T>(
    method: Method,
    path: string,
    name: string,
    shape: Shape,
    request: Request = {},
  ): Promise<T> {
    const whole = { ...request, shape: { [name]: shape } };
    return (await this.json<Record<string, T>>(method, path, whole))[name] as T;
  }

  /** The body of an answer. @throws as {@link send}. */
  text(response: Response, signal: AbortSignal | undefined): Promise<string> {
    return this.#orApiError(signal, () => response.text());
  }

  /** The body of an answer, as it arrives; who leaves it ends it. @throws as {@link send}. */
  async *pieces(
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
      throw new ApiError(0, `the answer of ${this.url} broke off: ${reasonOf(cause)}`, { cause });
    } finally {
      await reader.cancel().catch(() => {});
    }
  }

  async #errorOf(response: Response, signal: AbortSignal | undefined): Promise<ApiError> {
    const { status } = response;
    const text = await this.text(response, signal);
    const said = messageIn(text);
    const message = said ?? `${this.url} answered ${status}, and not as a Drover service does`;
    const after = Number(response.headers.get('retry-after') ?? Number.NaN);
    const retryAfterMs = after >= 0 ? after * 1000 : undefined;
    return new ApiError(status, message, { retryAfterMs, isForeign: said === undefined });
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

/** @throws ApiError when an answer is of another type. */
export function expectType(response: Response, wanted: string, call: string): void {
  const type = response.headers.get('content-type') ?? 'something without a type';
  if (type.startsWith(wanted)) return;
  const message = `${call} was answered with ${type}, not ${wanted}`;
  throw new ApiError(response.status, message, { isForeign: true });
}

/** Why a fetch failed, in one line. Node says it in a cause, browsers say nothing. */
export function reasonOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return String(cause);
  // An AggregateError, as of a name with several addresses, has its message in its parts.
  const [first] = cause instanceof AggregateError ? (cause.errors as unknown[]) : [];
  const text = cause.message || (first instanceof Error ? first.message : cause.name);
  // OpenSSL's have the place in its sources around the reason.
  const [, reason = text] = /:SSL routines:[^:]*:([^:]+):/.exec(text) ?? [];
  return reason.replace(/\s*[\r\n]+\s*/g, ' ');
}

function baseUrl(url: string): string {
  const isUrl = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
  if (!isUrl) {
    throw new TypeError(
      `${JSON.stringify(url)} is no URL of a service; one looks like http://localhost:8090`,
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

function messageIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
