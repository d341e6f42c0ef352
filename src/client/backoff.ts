/** Same as in src/shared/contract/timers.ts: the client imports only types from outside its folder. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
/** Upper bound of the wait in ms. */
const DEFAULT_MAX_MS = 30_000;
/** First wait in ms if the service sent no `retry:`. */
const DEFAULT_FIRST_MS = 1000;
/** Lower bound of the wait before jitter, in ms, regardless of options and service. */
const MIN_MS = 250;

export interface BackoffOptions {
  /** Wait after the first failure, in ms, at least 250. Default: the service's `retry:`, else 1,000. */
  firstMs?: number | undefined;
  /** Longest wait, in ms. Default 30,000. A longer `Retry-After` takes precedence. */
  maxMs?: number | undefined;
}

/**
 * Exponential backoff with jitter: doubles with each consecutive failure, then is reduced by up to half at random, so that the
 * clients of a restarted service do not all reconnect at once.
 * @param failures 1 for the first. @param random 0 to 1. @param retryAfterMs from `Retry-After`.
 */
export function backoffMs(
  failures: number,
  { firstMs = DEFAULT_FIRST_MS, maxMs = DEFAULT_MAX_MS }: BackoffOptions,
  random: number,
  retryAfterMs = 0,
): number {
  const whole = Math.max(MIN_MS, Math.min(maxMs, Math.max(MIN_MS, firstMs) * 2 ** (failures - 1)));
  const ms = Math.max(Math.round(whole * (1 - random / 2)), retryAfterMs);
  return Math.min(ms, MAX_TIMER_MS);
}
