import type { RestartPolicy } from '../../shared/contract/bots.js';
import { MAX_TIMER_MS } from '../../shared/contract/timers.js';

/** Which restart it is: within the window of the policy, or, without a limit, since the last healthy run. */
export interface Attempt {
  attempt: number;
  /** `max_restarts` of the policy; null without a limit. */
  limit: number | null;
}

/** Restart after this wait, or give up for this reason. */
export type RestartDecision =
  | { restart: true; waitMs: number; attempt: Attempt }
  | { restart: false; reason: string };

/** How a run ended, or why it did not start. */
export interface RunEnd {
  /** Null when the run returned. */
  error: string | null;
  /** False when a restart would end the same way. */
  restart: boolean;
  /** Only the bot's own ends count against its restart limit. */
  cause: 'bot' | 'host' | 'no host';
}

/**
 * What happens to a bot after its run has ended. `limit`: it failed because of the restart limit. `attempt` is null for a
 * restart that does not count.
 */
export type Verdict =
  | { type: 'rest' }
  | { type: 'giveUp'; reason: string; limit: boolean }
  | { type: 'retry'; waitMs: number; attempt: Attempt | null };

/** Without a limit the wait becomes infinite, and 0 times infinity is NaN. */
const MAX_DOUBLINGS = 31;

/** Decides when a bot is restarted: a sliding window of restarts, and a wait that doubles. */
export class RestartBackoff {
  /** Times of the restarts within the window, oldest first. Bounded by the policy's max_restarts; empty without a limit. */
  #restarts: number[] = [];
  /** Restarts since the last healthy run. */
  #streak = 0;
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  /** Forgets earlier restarts, for a start by the operator. */
  reset(): void {
    this.#restarts = [];
    this.#streak = 0;
  }

  /** @param ranMs how long the run lasted that ended at `now`. */
  decide(
    policy: RestartPolicy,
    desired: 'running' | 'stopped',
    { error, restart, cause }: RunEnd,
    now: number,
    ranMs: number,
  ): Verdict {
    const allowed = cause !== 'bot' || (restart && wantsRestart(policy, error));
    if (desired === 'stopped' || !allowed) {
      return error === null ? { type: 'rest' } : { type: 'giveUp', reason: error, limit: false };
    }
    if (cause === 'host') {
      return { type: 'retry', waitMs: this.uncharged(policy, ranMs), attempt: null };
    }
    if (cause === 'no host') return { type: 'retry', waitMs: this.noHost(policy), attempt: null };
    const next = this.next(policy, now, ranMs);
    if (next.restart) return { type: 'retry', waitMs: next.waitMs, attempt: next.attempt };
    const reason = `${error ?? 'its run returned'}; ${next.reason}`;
    return { type: 'giveUp', reason, limit: true };
  }

  /** Decides after an end that counts. @param ranMs how long the run lasted that ended at `now`. */
  next(policy: RestartPolicy, now: number, ranMs: number): RestartDecision {
    if (ranMs >= policy.healthy_ms) this.#streak = 0;
    const { max_restarts: limit } = policy;
    if (limit === null) {
      this.#restarts = [];
      const waitMs = this.#wait(policy);
      return { restart: true, waitMs, attempt: { attempt: this.#streak, limit } };
    }
    this.#restarts = this.#restarts.filter((at) => at > now - policy.window_ms);
    if (this.#restarts.length >= limit) {
      const window = Math.round(policy.window_ms / 1000);
      return {
        restart: false,
        reason: `restarted ${timesOf(this.#restarts.length)} within ${window} s, which is the limit`,
      };
    }
    this.#restarts.push(now);
    const attempt = { attempt: this.#restarts.length, limit };
    return { restart: true, waitMs: this.#wait(policy), attempt };
  }

  /** The wait in ms after a run that ended through no fault of the bot: always the first wait. */
  uncharged(policy: RestartPolicy, ranMs: number): number {
    if (ranMs >= policy.healthy_ms) this.#streak = 0;
    return this.#jittered(policy, 0);
  }

  /** The wait in ms when no host was available: longer each time, but not counted as a restart. */
  noHost(policy: RestartPolicy): number {
    return this.#wait(policy);
  }

  #wait(policy: RestartPolicy): number {
    const wait = this.#jittered(policy, this.#streak);
    this.#streak += 1;
    return wait;
  }

  #jittered(policy: RestartPolicy, doublings: number): number {
    const full = policy.backoff_ms * 2 ** Math.min(MAX_DOUBLINGS, doublings);
    const wait = Math.min(policy.backoff_cap_ms, full, MAX_TIMER_MS);
    // Jitter spreads bots that failed together. It stays below the full wait, so the cap holds.
    return Math.round(wait * (0.5 + this.#random() / 2));
  }
}

function wantsRestart({ policy }: RestartPolicy, error: string | null): boolean {
  return policy === 'always' || (policy === 'on-failure' && error !== null);
}

function timesOf(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
