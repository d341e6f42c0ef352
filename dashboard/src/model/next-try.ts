import type { BotSnapshot } from '../../../src/client/index.js';
import { t } from '../texts/text.js';

/**
 * @param span a duration in words.
 * @returns `next try in 31 s, attempt 6 of 10`; null for a bot that does not wait for its restart.
 */
export function nextTryText(
  { status, next_try }: BotSnapshot,
  now: number,
  span: (ms: number) => string,
): string | null {
  // Older nodes of a cluster do not report it.
  if (status !== 'backoff' || !next_try) return null;
  const { at_ms, attempt, limit } = next_try;
  const wait = at_ms - now;
  // A fraction counts as a second.
  const when = wait <= 0 ? t('nextTry.due') : t('nextTry.in', { time: span(wait + 999) });
  if (attempt === null) return when;
  return limit === null
    ? t('nextTry.attempt', { when, n: attempt })
    : t('nextTry.attemptOf', { when, n: attempt, limit });
}
