import { type ActivityOptions, ActivityTimer } from './activity-timer.js';
import type { SlowTurn } from './contract/slow-turn.js';
import { LoopLag, type SharedLag } from './memory/loop-lag.js';
import { ownThread, threadTimes } from './thread-waits.js';
import { running, takeLongest, type Work } from './turn.js';

/** How often a loop that works is measured, in ms. A blocked loop is measured to within so much. */
export const LAG_PERIOD_MS = 100;
/** A loop that is blocked this long is reported, in ms: clients wait for a front, and everybody for main. */
export const SLOW_TURN_MS = 1000;

export interface LagWatchOptions extends ActivityOptions {
  /** Called when the thread works again. */
  begin?: () => void;
  /** The loop was blocked for {@link SLOW_TURN_MS}, and turns again. */
  slow?: (turn: SlowTurn) => void;
  /** Text for an object that was given to nowRuns(). */
  describe?: (work: object) => string;
}

/** Measures the loop of this thread while it works: from a note until it has had none for a while. */
export function watchLag(
  shared: SharedLag,
  { begin, slow, describe, ...options }: LagWatchOptions = {},
): ActivityTimer {
  const lag = new LoopLag(shared);
  const thread = ownThread();
  let last = threadTimes(thread);
  const text = (work: Work | undefined): string | null =>
    typeof work === 'object' ? (describe?.(work) ?? null) : (work ?? null);
  // Called by the inspector in a thread that hangs (stack-capture.ts).
  Object.defineProperty(globalThis, Symbol.for('drover.running'), {
    value: () => text(running()),
    configurable: true,
  });
  return new ActivityTimer(
    LAG_PERIOD_MS,
    {
      begin() {
        takeLongest();
        last = threadTimes(thread);
        begin?.();
      },
      tick(lateMs) {
        lag.observe(lateMs / 1000);
        const longest = takeLongest();
        const before = last;
        last = threadTimes(thread);
        if (lateMs + LAG_PERIOD_MS < SLOW_TURN_MS) return;
        const ranMs = before && last ? last.ranMs - before.ranMs : null;
        const waitedMs = before && last ? last.waitedMs - before.waitedMs : 0;
        // The thread is not to blame for a busy machine.
        const forMs = lateMs + LAG_PERIOD_MS - waitedMs;
        if (forMs >= SLOW_TURN_MS) slow?.({ forMs, ranMs, what: text(longest) });
      },
    },
    options,
  );
}
