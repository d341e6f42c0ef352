// Runs in a bot host thread. Owns the timer by which the host beats and measures its loop, while code runs in it.

import { ActivityTimer, LONG_QUIET_PERIODS } from '../shared/activity-timer.js';
import { LAG_PERIOD_MS } from '../shared/lag-watch.js';
import type { Heartbeat } from '../shared/memory/heartbeat.js';
import type { LoopLag } from '../shared/memory/loop-lag.js';
import { runAsHost } from './current-bot.js';
import { memoryUsed } from './memory.js';

export interface PulseParts {
  heartbeat: Heartbeat;
  lag: Pick<LoopLag, 'observe'>;
  /** The memory that the host may use, in bytes. */
  limit: number;
  /** Counts what bots use: ticks with each beat, ends when no more follow. */
  usage: { tick(): void; end(): void };
  /** Tells main that the host beats again: main does not look at hosts that are asleep. */
  woke(): void;
}

/**
 * A host whose bots are all idle has no timer and no beats. Before the first callback after that it beats, and main looks at it
 * again: a bot that blocks the loop, or takes memory without end, is found as soon as in a host that never slept.
 */
export class Pulse {
  readonly #parts: PulseParts;
  readonly #timer: ActivityTimer;
  #isAwake = false;

  constructor(parts: PulseParts) {
    this.#parts = parts;
    const tasks = {
      begin: () => this.#wake(),
      tick: (lateMs: number) => this.#tick(lateMs),
      end: () => this.#sleep(),
    };
    // Its timer passes the hook that calls note(), once.
    this.#timer = new ActivityTimer(LAG_PERIOD_MS, tasks, {
      ownNotes: 1,
      quietPeriods: LONG_QUIET_PERIODS,
    });
  }

  /** Call it before each callback of the thread. */
  readonly note = (): void => {
    if (this.#isAwake) {
      this.#timer.note();
      return;
    }
    this.#isAwake = true;
    // The timer is the host's: it must not keep a run, or count as a run's code.
    runAsHost(() => this.#timer.start());
  };

  stop(): void {
    this.#timer.stop();
  }

  #wake(): void {
    const { heartbeat, woke } = this.#parts;
    this.#beat(0);
    heartbeat.isAwake = true;
    woke();
  }

  #tick(lateMs: number): void {
    this.#parts.lag.observe(lateMs / 1000);
    this.#beat(lateMs);
    this.#parts.usage.tick();
  }

  #sleep(): void {
    this.#parts.usage.end();
    this.#isAwake = false;
    this.#parts.heartbeat.isAwake = false;
  }

  #beat(lateMs: number): void {
    const { heartbeat, limit } = this.#parts;
    heartbeat.beat({ used: memoryUsed(limit), limit }, lateMs);
  }
}
