import { ApiError } from './api-error.js';
import { type BackoffOptions, backoffMs, MAX_TIMER_MS } from './backoff.js';
import { expectType, reasonOf } from './http.js';
import { SseParser } from './sse-parser.js';
import { type StreamEvent, typedEvent } from './stream-events.js';

/** Bound of one event in characters, far above the service's own limits. A longer event breaks the connection. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;
/** As src/shared/contract/heartbeat-header.ts has it: the client imports nothing from other folders. */
const HEARTBEAT_HEADER = 'Drover-Heartbeat-Ms';
/** Of a service that does not say how often it sends heartbeats, and until it has said it. */
const DEFAULT_SILENCE_MS = 60_000;
/** A heartbeat is late by so much before the connection counts as dead: a part of its interval, and at least this, in ms. */
const LATE = 0.5;
const LEAST_LATE_MS = 5000;

export type StreamState =
  /** `failures`: number of consecutive failures so far. */
  | { state: 'connecting'; failures: number }
  | { state: 'open' }
  /** Disconnected because of `error`; reconnects at `retryAtMs` (Unix epoch ms). */
  | { state: 'waiting'; failures: number; retryAtMs: number; error: ApiError }
  /** Ended: by its signal, by `close()`, because its reader left the loop, or with `error`. */
  | { state: 'closed'; error: ApiError | null };

export interface StreamOptions {
  /** Resumes after this event (docs/API.md, Ids and resuming). */
  lastEventId?: string | null | undefined;
  /** Ends the stream without an error. */
  signal?: AbortSignal | undefined;
  /** Called at the start of reading and on each change. */
  onState?: ((state: StreamState) => void) | undefined;
  /** Called when data without an event has come: a heartbeat, or the position of a stream that begins without snapshots. */
  onHeartbeat?: (() => void) | undefined;
  /** Called for a `gap` event, before the reader gets it. */
  onGap?: ((gap: Extract<StreamEvent, { event: 'gap' }>['data']) => void) | undefined;
  /** Delays between reconnects. */
  backoff?: BackoffOptions | undefined;
  /**
   * A connection without data for this long, in ms, is considered dead; null disables the check. Must be longer than the
   * service's `stream.heartbeat_ms`. Default: one and a half of it, at least 5 s more (22,500 with its default), as the service
   * tells it; 60,000 before the first answer.
   */
  silenceMs?: number | null | undefined;
}

/** Opens the stream after `lastEventId`. @throws ApiError */
export type Connect = (lastEventId: string | null, signal: AbortSignal) => Promise<Response>;

/**
 * The live stream, with automatic reconnects that resume after the last event. It can be read once, by one reader: event by
 * event (`for await (const event of stream)`) or in batches as they arrive ({@link batches}).
 *
 * The stream does not read ahead of its reader. The service closes the connection of a reader that stalls for
 * `stream.stall_ms`; the stream then reconnects, and has a `gap` if the missed events are no longer available.
 *
 * Reading throws ApiError if a retry cannot help: an invalid token (401, 403) or an invalid request.
 */
export class EventStream implements AsyncIterable<StreamEvent> {
  readonly #connect: Connect;
  readonly #options: StreamOptions;
  #state: StreamState = { state: 'connecting', failures: 0 };
  /** Id of the last received event. */
  #position: string | null;
  /** Id of the last event that the reader took. */
  #delivered: string | null;
  #retryMs: number | undefined;
  /** Consecutive failures. */
  #failures = 0;
  /** The last backoff delay. */
  #waitedMs = 0;
  #isRead = false;
  #isClosed = false;
  #connection: AbortController | undefined;
  #wake: (() => void) | undefined;
  /** What the service has told. */
  #heartbeatMs: number | undefined;

  constructor(connect: Connect, options: StreamOptions) {
    this.#connect = connect;
    this.#options = options;
    this.#position = options.lastEventId ?? null;
    this.#delivered = this.#position;
  }

  get state(): StreamState {
    return this.#state;
  }

  /** Id of the last event that the reader took, to resume another stream from; null before the first. */
  get lastEventId(): string | null {
    return this.#delivered;
  }

  /** Ends the stream without an error. */
  close(): void {
    this.#isClosed = true;
    this.#connection?.abort();
    this.#wake?.();
  }

  /** Reconnects now instead of waiting, for example when the network is back. */
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

  /** Each batch holds the events of one received chunk, at least one. */
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
        this.#setState({ state: 'connecting', failures: this.#failures });
        let openedAt = Number.POSITIVE_INFINITY;
        try {
          for await (const batch of this.#readConnection()) {
            const isOpening = this.#state.state !== 'open';
            if (isOpening) {
              openedAt = performance.now();
              this.#setState({ state: 'open' });
            }
            for (const event of batch) if (event.event === 'gap') this.#options.onGap?.(event.data);
            // Snapshots (without ids) do not reset the backoff: otherwise a connection that breaks right after them would be
            // retried without delay, forever.
            if (batch.some(({ id }) => id !== null)) this.#failures = 0;
            if (batch.length > 0) yield batch;
            else if (!isOpening) {
              this.#delivered = this.#position;
              this.#options.onHeartbeat?.();
            }
          }
          throw new ApiError(0, 'the service closed the stream');
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
      this.#setState({ state: 'closed', error });
    }
  }

  /** One connection. The first batch is empty and signals that it is open. @throws ApiError */
  async *#readConnection(): AsyncGenerator<StreamEvent[], void, undefined> {
    const connection = new AbortController();
    this.#connection = connection;
    const parser = new SseParser(MAX_EVENT_CHARS);
    const decoder = new TextDecoder();
    const resumes = this.#position !== null;
    try {
      const response = await this.#withSilenceLimit(() => this.#open(connection.signal));
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      yield [];
      for (;;) {
        const { done, value } = await this.#withSilenceLimit(() => reader.read());
        if (done) return;
        const frames = parser.feed(decoder.decode(value, { stream: true }));
        const events = frames.map((frame) => typedEvent(frame, resumes));
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
    const heartbeatMs = Number(response.headers.get(HEARTBEAT_HEADER));
    this.#heartbeatMs = heartbeatMs > 0 ? heartbeatMs : undefined;
    return response;
  }

  #silenceMs(): number {
    const every = this.#heartbeatMs;
    if (every === undefined) return DEFAULT_SILENCE_MS;
    return every + Math.max(LEAST_LATE_MS, every * LATE);
  }

  /** Aborts the connection if the task takes longer than `silenceMs`. */
  async #withSilenceLimit<T>(task: () => Promise<T>): Promise<T> {
    const { silenceMs = this.#silenceMs() } = this.#options;
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
      throw isLate ? new ApiError(0, `no data for ${silenceMs / 1000} s`) : thrown;
    } finally {
      clearTimeout(timer);
    }
  }

  async #wait(error: ApiError): Promise<void> {
    const failures = this.#failures;
    const { firstMs = this.#retryMs, maxMs } = this.#options.backoff ?? {};
    const ms = backoffMs(failures, { firstMs, maxMs }, Math.random(), error.retryAfterMs);
    this.#waitedMs = ms;
    this.#setState({ state: 'waiting', failures, retryAtMs: Date.now() + ms, error });
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

  #setState(state: StreamState): void {
    this.#state = state;
    this.#options.onState?.(state);
  }
}
