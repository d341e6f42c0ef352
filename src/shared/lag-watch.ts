import { ActivityTimer } from './activity-timer.js';
import { LoopLag, type SharedLag } from './memory/loop-lag.js';

/** How often a loop that works is measured, in ms. */
export const LAG_PERIOD_MS = 100;

/** Measures the loop of this thread while it works: from each note to the end of a period without one. */
export function watchLag(shared: SharedLag): ActivityTimer {
  const lag = new LoopLag(shared);
  return new ActivityTimer(LAG_PERIOD_MS, { tick: (lateMs) => lag.observe(lateMs / 1000) });
}
