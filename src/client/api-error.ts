export interface ApiErrorOptions {
  /** From `Retry-After`, in ms. */
  retryAfterMs?: number | undefined;
  isForeign?: boolean;
  cause?: unknown;
}

/**
 * The error of every failed call and stream. A call that is aborted by its own signal rejects with the signal's reason instead,
 * as `fetch` does.
 */
export class ApiError extends Error {
  /**
   * The HTTP status (docs/API.md, Errors). 0 means no response: connection refused or broken. Below 300, the response was
   * successful but did not come from a Drover service.
   */
  readonly status: number;
  /** How long to wait before a retry, in ms; undefined if the service did not say. */
  readonly retryAfterMs: number | undefined;
  /** Whether the response did not come from a Drover service of this version, but for example from a proxy. */
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

  /** Whether a retry of the same call can succeed. */
  get isPassing(): boolean {
    const { status } = this;
    return status === 0 || status === 408 || status === 429 || status >= 500;
  }
}
