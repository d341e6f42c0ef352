import type { Block } from './contract/slow-turn.js';
import { ownThread, threadTimes } from './thread-waits.js';
import { nowRuns } from './turn.js';

/** Interval of the checks of how long the thread has run, in ms. */
const LOOK_MS = 10;
/** Delay in ms, so that the call that asked for it is answered first. */
const AFTER_MS = 50;

/** Blocks the event loop of this thread, for drills. */
export function blockLoop({ forMs }: Block): void {
  const thread = ownThread();
  // Counts run time, because other programs may have the processor meanwhile; where that is not known, elapsed time.
  const ran = (): number => threadTimes(thread)?.ranMs ?? performance.now();
  const end = ran() + (forMs ?? Number.POSITIVE_INFINITY);
  for (;;) {
    const look = performance.now() + LOOK_MS;
    while (performance.now() < look);
    if (ran() >= end) return;
  }
}

/** Blocks the event loop in another turn, a little later. */
export function blockLater(block: Block, within = (task: () => void): void => task()): void {
  setTimeout(() => {
    nowRuns('a drill');
    within(() => blockLoop(block));
  }, AFTER_MS);
}
