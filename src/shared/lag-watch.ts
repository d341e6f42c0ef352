import { type ActivityOptions, ActivityTimer } from './activity-timer.js';
import { LoopLag, type SharedLag } from './memory/loop-lag.js';

/** How often a loop that works is measured, in ms. */
export const LAG_PERIOD_MS = 100;

/**
 * Measures the loop of this thread while it works: from a note until it has had none for a while.
 * @param begin is called when the thread works again.
 */
export function watchLag(
  shared: SharedLag,
  begin = (): void => {},
  options: ActivityOptions = {},
): ActivityTimer {
  const lag = new LoopLag(shared);
  const tick = (lateMs: number): void => lag.observe(lateMs / 1000);
  return new ActivityTimer(LAG_PERIOD_MS, { begin, tick }, options);
}
