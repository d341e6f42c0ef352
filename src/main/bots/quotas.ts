// Runs in main. Judges what bots use by their quotas. Owns the times at which bots were named.

import type { BotUsage } from '../../shared/contract/events.js';
import { limitsOf, type Quota } from '../../shared/contract/quota.js';
import { USAGE_NAMES, type UsageName } from '../../shared/contract/usage.js';
import type { WindowUse } from './usage.js';
import type { BotWithUsage } from './usage-snapshots.js';

/** A bot that is judged. */
export interface JudgedBot {
  quota: Quota | undefined;
  /** How long its run has lasted, in ms. */
  ranMs: number;
}

export interface QuotaActions<Host> {
  /** Undefined for a bot that does not run. */
  bot(id: string): JudgedBot | undefined;
  /** Writes a line of the bot. */
  warn(id: string, line: string): void;
  /** Moves the bot to its own host; stops it when it has one already, or there is no room for one. */
  exceeded(id: string, host: Host, reason: string): void;
}

/** A bot is named once in this time for each figure that is too large, in ms. */
const NAME_EVERY_MS = 10 * 60_000;

export class Quotas<Host> {
  readonly #service: Quota;
  readonly #actions: QuotaActions<Host>;
  readonly #now: () => number;
  /** When a bot was named, by figure. Bounded by the bots that were named within NAME_EVERY_MS. */
  readonly #namedAt = new Map<string, Map<UsageName, number>>();

  /** @param service for what the quota of a bot does not name. @param now a monotonic clock in ms. */
  constructor(service: Quota, actions: QuotaActions<Host>, now = () => performance.now()) {
    this.#service = service;
    this.#actions = actions;
    this.#now = now;
  }

  /** Judges what bots of a host have used in a window of `ms`. @returns the same with what is over a quota. */
  judge(host: Host, uses: readonly WindowUse[], ms: number): BotWithUsage[] {
    this.#forget();
    return uses.map(({ id, usage }) => ({
      id,
      usage,
      over_quota: usage === null ? [] : this.#judge(host, id, usage, ms),
    }));
  }

  #judge(host: Host, id: string, usage: BotUsage, ms: number): UsageName[] {
    const bot = this.#actions.bot(id);
    if (!bot) return [];
    const over: UsageName[] = [];
    const soft: string[] = [];
    const hard: string[] = [];
    for (const name of USAGE_NAMES) {
      const used = usage[name] ?? 0;
      const limits = limitsOf(name, bot.quota, this.#service);
      if (used > limits.hard) hard.push(`${name} ${used} of ${limits.hard}`);
      if (used <= Math.min(limits.soft, limits.hard)) continue;
      over.push(name);
      if (this.#isNew(id, name))
        soft.push(`${name} ${used} of ${Math.min(limits.soft, limits.hard)}`);
    }
    const seconds = Math.round(ms / 1000);
    if (soft.length > 0) {
      this.#actions.warn(id, `used more than its quota in ${seconds} s: ${soft.join(', ')}`);
    }
    // A start costs more than the rest of a run, so a bot is judged for whole windows only.
    if (hard.length > 0 && bot.ranMs >= ms) {
      const reason = `it used more than its hard quota in ${seconds} s: ${hard.join(', ')}`;
      this.#actions.exceeded(id, host, reason);
    }
    return over;
  }

  #isNew(id: string, name: UsageName): boolean {
    const named = this.#namedAt.get(id) ?? new Map<UsageName, number>();
    if (named.has(name)) return false;
    this.#namedAt.set(id, named.set(name, this.#now()));
    return true;
  }

  #forget(): void {
    const since = this.#now() - NAME_EVERY_MS;
    for (const [id, named] of this.#namedAt) {
      for (const [name, at] of named) if (at <= since) named.delete(name);
      if (named.size === 0) this.#namedAt.delete(id);
    }
  }
}
