// Pure; runs in clients. Owns how long a stream waits before it is opened again.

/** Longest wait before a jitter that shortens it, in ms. */
const DEFAULT_MAX_MS = 30_000;
/** When the service has not said how long. */
const DEFAULT_FIRST_MS = 1000;

export interface BackoffOptions {
  /** Wait after the first failure, in ms. Default: what the service says with `retry:`, else 1,000. */
  firstMs?: number | undefined;
  /** Longest wait, in ms. Default 30,000; a longer `Retry-After` counts all the same. */
  maxMs?: number | undefined;
}

/**
 * Doubles with each failure in a row, and is shortened by up to a half at random, so that many clients of a service that
 * comes back do not come at once.
 * @param failures 1 for the first. @param random 0 to 1.
 */
export function backoffMs(
  failures: number,
  { firstMs = DEFAULT_FIRST_MS, maxMs = DEFAULT_MAX_MS }: BackoffOptions,
  random: number,
): number {
  const whole = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(whole * (1 - random / 2));
}
