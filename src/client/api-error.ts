// Runs in clients, in Node and in browsers. Owns the one error that calls and streams end with.

export interface ApiErrorOptions {
  /** From `Retry-After`, in ms. */
  retryAfterMs?: number | undefined;
  isForeign?: boolean;
  cause?: unknown;
}

/**
 * A call that did not get what it asked for. What was aborted by the caller's own signal is no ApiError: it rejects with the
 * signal's reason, as `fetch` does.
 */
export class ApiError extends Error {
  /**
   * The HTTP status (docs/API.md, Errors); 0 when no answer came: nobody listens there, or the connection broke. One below
   * 300 is that of an answer which is not one of this service.
   */
  readonly status: number;
  /** How long to wait before it is tried again, in ms; undefined when the service did not say. */
  readonly retryAfterMs: number | undefined;
  /** Whether what answered is no Drover service, or one of another version; also a proxy before one. */
  readonly isForeign: boolean;

  constructor(
    status: number,
    message: string,
    { retryAfterMs, isForeign = false, cause }: ApiErrorOptions = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isForeign = isForeign;
  }

  /** Whether the same call may succeed later, without anything being changed. */
  get isPassing(): boolean {
    const { status } = this;
    return status === 0 || status === 408 || status === 429 || status >= 500;
  }
}
