// Pure; runs in clients. Owns how long a stream waits before it is opened again.

/** As in src/shared/contract/timers.ts: of what is outside its folder the client imports types alone. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
/** Longest wait before a jitter that shortens it, in ms. */
const DEFAULT_MAX_MS = 30_000;
/** When the service has not said how long. */
const DEFAULT_FIRST_MS = 1000;
/** Shortest wait before the jitter, whatever was said: nobody is asked without a pause. */
const MIN_MS = 250;

export interface BackoffOptions {
  /** Wait after the first failure, in ms, at least 250. Default: what the service says with `retry:`, else 1,000. */
  firstMs?: number | undefined;
  /** Longest wait, in ms. Default 30,000; a longer `Retry-After` counts all the same. */
  maxMs?: number | undefined;
}

/**
 * Doubles with each failure in a row, and is shortened by up to a half at random, so that many clients of a service that
 * comes back do not come at once.
 * @param failures 1 for the first. @param random 0 to 1. @param retryAfterMs what the service has asked for.
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
