// Runs in main. Owns the quarantine of bot kinds whose code broke bot hosts outside of any bot.

import type { KindHold } from '../../shared/contract/bots.js';

/** Losses of hosts by a kind's code within this time count together, in ms. */
const REMEMBER_MS = 60 * 60 * 1000;
/** Losses after which the kind is quarantined. The first one may have been a rare case, and its bots return. */
const LOSSES = 2;

/** The kind of the bot is quarantined: the bot is not started again before the kind is released. */
export class KindHeld extends Error {
  constructor(kind: string, { reason }: KindHold) {
    super(`the bot kind ${kind} is quarantined: ${reason}`);
  }
}

/**
 * Kinds whose own code, as a timer of their module, breaks hosts again and again. No bot can be blamed for that, and a new host
 * that loads the kind would be lost as well. So new hosts do without it, and its bots are not started.
 */
export class KindQuarantine {
  /** When each kind broke hosts within REMEMBER_MS. Bounded by the number of kinds, with fewer than LOSSES each. */
  readonly #losses = new Map<string, number[]>();
  /** The quarantined kinds. Bounded by the number of kinds. */
  readonly #held = new Map<string, KindHold>();

  /**
   * A host was lost because of the kind.
   * @param reason in a line. @param now Unix epoch milliseconds. @returns whether the kind is quarantined from now on.
   */
  lost(kind: string, reason: string, now: number): boolean {
    if (this.#held.has(kind)) return false;
    const recent = (this.#losses.get(kind) ?? []).filter((at) => at > now - REMEMBER_MS);
    recent.push(now);
    if (recent.length < LOSSES) {
      this.#losses.set(kind, recent);
      return false;
    }
    this.#losses.delete(kind);
    this.#held.set(kind, { since_ms: now, reason });
    return true;
  }

  /** Null when the kind is not quarantined. */
  holdOf(kind: string): KindHold | null {
    return this.#held.get(kind) ?? null;
  }

  /** @throws KindHeld */
  admit(kind: string): void {
    const hold = this.#held.get(kind);
    if (hold) throw new KindHeld(kind, hold);
  }

  /** @returns false when the kind is not quarantined. */
  release(kind: string): boolean {
    return this.#held.delete(kind);
  }
}
