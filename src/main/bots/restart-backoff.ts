// Pure; used by main. Owns when a bot may be restarted: a sliding window, and a wait that doubles.

import type { RestartPolicy } from '../../shared/contract/bots.js';
import { MAX_TIMER_MS } from '../../shared/contract/timers.js';

/** What to do with a bot that ended: wait this long, or give up for this reason. */
export type RestartDecision =
  | { restart: true; waitMs: number }
  | { restart: false; reason: string };

/** After that many doublings every wait is the longest; without an end they become infinite, and 0 times that is NaN. */
const MAX_DOUBLINGS = 31;

export class RestartBackoff {
  /** Times of the restarts within the window, oldest first. Bounded by the policy's max_restarts. */
  #restarts: number[] = [];
  /** Restarts since the last healthy run. */
  #streak = 0;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Forgets everything: the operator has started the bot. */
  reset(): void {
    this.#restarts = [];
    this.#streak = 0;
  }

  /** @param ranMs how long the run lasted that ended at `now`. */
  next(policy: RestartPolicy, now: number, ranMs: number): RestartDecision {
    if (ranMs >= policy.healthy_ms) this.#streak = 0;
    this.#restarts = this.#restarts.filter((at) => at > now - policy.window_ms);
    if (this.#restarts.length >= policy.max_restarts) {
      const window = Math.round(policy.window_ms / 1000);
      return {
        restart: false,
        reason: `restarted ${timesOf(this.#restarts.length)} within ${window} s, which is the limit`,
      };
    }
    this.#restarts.push(now);
    return { restart: true, waitMs: this.#wait(policy) };
  }

  /** How long to wait, in ms, after a run that others have ended: the first wait, however often they do. */
  uncharged(policy: RestartPolicy, ranMs: number): number {
    if (ranMs >= policy.healthy_ms) this.#streak = 0;
    return this.#jittered(policy, 0);
  }

  /** How long to wait, in ms, when there was no place for a run: longer each time, but not charged. */
  noPlace(policy: RestartPolicy): number {
    return this.#wait(policy);
  }

  #wait(policy: RestartPolicy): number {
    const wait = this.#jittered(policy, this.#streak);
    this.#streak = Math.min(MAX_DOUBLINGS, this.#streak + 1);
    return wait;
  }

  #jittered(policy: RestartPolicy, doublings: number): number {
    const full = policy.backoff_ms * 2 ** doublings;
    const wait = Math.min(policy.backoff_cap_ms, full, MAX_TIMER_MS);
    // Jitter below the full wait: bots that fell together do not come back together, and the cap stays the cap.
    return Math.round(wait * (0.5 + this.#random() / 2));
  }
}

function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
