// Runs in clients, in Node and in browsers. Owns one live stream over as many connections as it takes: opens it, opens it
// again when it breaks, and goes on behind the last event that it had.

import { ApiError } from './api-error.js';
import { type BackoffOptions, backoffMs, MAX_TIMER_MS } from './backoff.js';
import { expectType, reasonOf } from './http.js';
import { SseParser } from './sse-parser.js';
import { type StreamEvent, typedEvent } from './stream-events.js';

/** Longest event, in characters; far above what the service lets through. One that is longer breaks the connection. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;
/** Four heartbeats of the service as it is by default (`stream.heartbeat_ms`). */
const DEFAULT_SILENCE_MS = 60_000;

/** How a stream is. */
export type StreamState =
  /** `failures`: how often in a row it did not work until now. */
  | { state: 'connecting'; failures: number }
  | { state: 'open' }
  /** It is tried again at `retryAtMs` (Unix epoch ms); `error` is why it has to be. */
  | { state: 'waiting'; failures: number; retryAtMs: number; error: ApiError }
  /** It is over: by its signal, by `close()`, because its reader left, or with `error`. */
  | { state: 'closed'; error: ApiError | null };

export interface StreamOptions {
  /** Goes on behind this event, as a stream does that has had it (docs/API.md, Ids and resuming). */
  lastEventId?: string | null | undefined;
  /** Ends the stream; its reader then sees an end, not an error. */
  signal?: AbortSignal | undefined;
  /** Told of each change, and at once when the reading begins. */
  onState?: ((state: StreamState) => void) | undefined;
  /** Told that something was lost, before the reader gets the `gap` event. */
  onGap?: ((gap: Extract<StreamEvent, { event: 'gap' }>['data']) => void) | undefined;
  /** Waits between two tries. */
  backoff?: BackoffOptions | undefined;
  /**
   * A connection that has brought nothing for so long, in ms, is taken for dead; null for never. Default 60,000. It must be
   * longer than `stream.heartbeat_ms` of the service.
   */
  silenceMs?: number | null | undefined;
}

/** Asks for the stream behind `lastEventId`. @throws ApiError. */
export type Connect = (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;

/**
 * A stream to be read once, by one reader: either event by event (`for await (const event of stream)`) or in the batches in
 * which they arrive ({@link batches}).
 *
 * Nothing is read ahead of the reader but the pieces that the platform takes off the socket. One that is slow holds the
 * service up, which after `stream.stall_ms` closes the connection; the stream then goes on behind the last event, and has a
 * `gap` when that is too long ago.
 *
 * Reading throws ApiError when trying again is of no use: the token is not good (401, 403), or the request is wrong.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly #connect: Connect;
  readonly #options: StreamOptions;
  #state: StreamState = { state: 'connecting', failures: 0 };
  /** Of the last event that was taken off a connection. */
  #position: string | null;
  /** Of the last event that the reader has had. */
  #delivered: string | null;
  #retryMs: number | undefined;
  /** How often in a row it did not work. */
  #failures = 0;
  /** The last wait between two connections. */
  #waitedMs = 0;
  #isRead = false;
  #isClosed = false;
  #connection: AbortController | undefined;
  #wake: (() => void) | undefined;

  constructor(connect: Connect, options: StreamOptions) {
    this.#connect = connect;
    this.#options = options;
    this.#position = options.lastEventId ?? null;
    this.#delivered = this.#position;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Behind which a later stream goes on where this one's reader is; null as long as there is none. */
  get lastEventId(): string | null {
    return this.#delivered;
  }

  /** Ends the stream; its reader sees an end. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.abort();
    this.#wake?.();
  }

  /** Ends a wait: for when the network is there again, or somebody does not want to wait. */
  retryNow(): void {
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamEvent, void, undefined> {
    for await (const batch of this.#read()) {
      for (const event of batch) {
        this.#delivered = event.id ?? this.#delivered;
        yield event;
      }
      this.#delivered = this.#position;
    }
  }

  /** Each batch is what one piece off the connection held; it has at least one event. */
  async *batches(): AsyncGenerator<StreamEvent[], void, undefined> {
    for await (const batch of this.#read()) {
      this.#delivered = this.#position;
      yield batch;
    }
  }

  async *#read(): AsyncGenerator<StreamEvent[], void, undefined> {
    if (this.#isRead) throw new Error('a stream can be read once; open another');
    this.#isRead = true;
    const { signal } = this.#options;
    const onAbort = (): void => this.close();
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) this.close();
    let error: ApiError | null = null;
    try {
      while (!this.#isClosed) {
        this.#become({ state: 'connecting', failures: this.#failures });
        let openedAt = Number.POSITIVE_INFINITY;
        try {
          for await (const batch of this.#readConnection()) {
            if (this.#state.state !== 'open') {
              openedAt = performance.now();
              this.#become({ state: 'open' });
            }
            for (const event of batch) if (event.event === 'gap') this.#options.onGap?.(event.data);
            // One that only has the snapshots before it breaks would be asked for them without end.
            if (batch.some(({ id }) => id !== null)) this.#failures = 0;
            if (batch.length > 0) yield batch;
          }
          throw new ApiError(0, 'the service has ended the stream');
        } catch (thrown) {
          if (this.#isClosed) return;
          if (!(thrown instanceof ApiError)) throw thrown;
          error = thrown;
        }
        if (!error.isPassing) throw error;
        if (performance.now() - openedAt > this.#waitedMs) this.#failures = 0;
        this.#failures += 1;
        await this.#wait(error);
        error = null;
      }
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.close();
      this.#become({ state: 'closed', error });
    }
  }

  /** One connection, from its request to its end; the first batch is empty and says that it is open. @throws ApiError. */
  async *#readConnection(): AsyncGenerator<StreamEvent[], void, undefined> {
    const connection = new AbortController();
    this.#connection = connection;
    const parser = new SseParser(MAX_EVENT_CHARS);
    const decoder = new TextDecoder();
    try {
      const response = await this.#inTime(() => this.#open(connection.signal));
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      yield [];
      for (;;) {
        const { done, value } = await this.#inTime(() => reader.read());
        if (done) return;
        const events = parser.feed(decoder.decode(value, { stream: true })).map(typedEvent);
        this.#position = parser.lastId ?? this.#position;
        this.#retryMs = parser.retryMs ?? this.#retryMs;
        yield events;
      }
    } catch (cause) {
      if (cause instanceof ApiError) throw cause;
      if (cause instanceof SyntaxError || cause instanceof RangeError) {
        throw new ApiError(0, `the stream is damaged: ${cause.message}`, { cause });
      }
      throw new ApiError(0, `the stream broke: ${reasonOf(cause)}`, { cause });
    } finally {
      connection.abort();
    }
  }

  async #open(signal: AbortSignal): Promise<Response> {
    const response = await this.#connect(this.#position, signal);
    expectType(response, 'text/event-stream', 'GET /events');
    return response;
  }

  /** What the connection brings next, unless that takes too long. */
  async #inTime<T>(task: () => Promise<T>): Promise<T> {
    const { silenceMs = DEFAULT_SILENCE_MS } = this.#options;
    if (silenceMs === null || silenceMs > MAX_TIMER_MS) return task();
    const connection = this.#connection;
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      connection?.abort();
    }, silenceMs);
    try {
      return await task();
    } catch (thrown) {
      throw isLate ? new ApiError(0, `nothing came for ${silenceMs / 1000} s`) : thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  async #wait(error: ApiError): Promise<void> {
    const failures = this.#failures;
    const { firstMs = this.#retryMs, maxMs } = this.#options.backoff ?? {};
    const ms = backoffMs(failures, { firstMs, maxMs }, Math.random(), error.retryAfterMs);
    this.#waitedMs = ms;
    this.#become({ state: 'waiting', failures, retryAtMs: Date.now() + ms, error });
    if (this.#isClosed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #become(state: StreamState): void {
    this.#state = state;
    this.#options.onState?.(state);
  }
}
