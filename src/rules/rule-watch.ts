// Pure but for its state: whether one rule fires. Times are monotonic, in ms.

import { MAX_RULE_BOTS } from '../shared/contract/rule-bounds.js';
import type { RuleReport } from '../shared/contract/rule-messages.js';
import type { RuleSettings } from '../shared/contract/rules.js';
import { WindowCount } from './window-count.js';

/** A condition must have been over for so long before a rule stops firing: one at its threshold would tell people every second. */
const CALM_MS = 5000;

export class RuleWatch {
  readonly #rule: RuleSettings;
  readonly #count: WindowCount | undefined;
  /** The bots of the last lines, the latest last, with the time of their line; at most {@link MAX_RULE_BOTS}. */
  readonly #lastBots = new Map<string, number>();
  readonly #begun: number;
  #lastAt: number;
  #matching: { count: number; sample: readonly string[] } = { count: 0, sample: [] };
  #state: RuleReport['state'] = 'ok';
  /** Since when the condition holds, or, of a rule that fires, does not hold. */
  #holdsFrom: number | undefined;
  #calmFrom: number | undefined;

  /** @param now when it begins to be looked at: an absence is counted from then. */
  constructor(rule: RuleSettings, now: number) {
    this.#rule = rule;
    this.#begun = now;
    this.#lastAt = now;
    const { condition, window_ms: window } = rule;
    const counts = condition === 'count' || condition === 'rate';
    this.#count = counts ? new WindowCount(window ?? 0) : undefined;
  }

  /**
   * Who has looked at it for longer says that it fires. This counts until a whole window was seen here; after that one's own count does.
   * @param forMs since when.
   */
  takeFiring(forMs: number, now: number): void {
    if (this.#state === 'firing' || (now > this.#begun && this.#hasWindow(now))) return;
    this.#state = 'firing';
    const { condition, window_ms: window } = this.#rule;
    if (condition === 'absence' && this.#lastAt === this.#begun) {
      this.#lastAt = now - forMs - (window ?? 0);
    }
  }

  /** A line has matched. */
  note(bot: string | undefined, now: number): void {
    this.#lastAt = now;
    this.#count?.add(now);
    if (bot === undefined) return;
    this.#lastBots.delete(bot);
    this.#lastBots.set(bot, now);
    if (this.#lastBots.size > MAX_RULE_BOTS) {
      this.#lastBots.delete(this.#lastBots.keys().next().value as string);
    }
  }

  /** So many bots match now. @param sample some of them. */
  match(count: number, sample: readonly string[]): void {
    this.#matching = { count, sample };
  }

  /** What it has come to at this time. */
  look(now: number): Omit<RuleReport, 'id' | 'revision'> {
    const value = this.#value(now);
    this.#step(this.#holds(value, now), now);
    return { state: this.#state, value, bots: this.#bots(now) };
  }

  #hasWindow(now: number): boolean {
    return now - this.#begun >= (this.#rule.window_ms ?? 0);
  }

  #value(now: number): number {
    const { condition, window_ms: window } = this.#rule;
    switch (condition) {
      case 'count':
        return this.#count?.total(now) ?? 0;
      case 'rate':
        return round(((this.#count?.total(now) ?? 0) * 1000) / (window ?? 1));
      case 'absence':
        return Math.floor((now - this.#lastAt) / 1000);
      case 'bots':
        return this.#matching.count;
    }
  }

  #holds(value: number, now: number): boolean {
    const { condition, threshold, window_ms: window } = this.#rule;
    if (condition === 'absence') return now - this.#lastAt >= (window ?? 0);
    return value >= (threshold ?? 1);
  }

  #step(holds: boolean, now: number): void {
    if (holds) {
      this.#calmFrom = undefined;
      this.#holdsFrom ??= now;
      if (this.#state === 'firing') return;
      this.#state = now - this.#holdsFrom >= this.#rule.for_ms ? 'firing' : 'pending';
      return;
    }
    this.#holdsFrom = undefined;
    if (this.#state === 'firing') {
      if (this.#count && !this.#hasWindow(now)) return;
      this.#calmFrom ??= now;
      if (now - this.#calmFrom < CALM_MS) return;
    }
    this.#calmFrom = undefined;
    this.#state = 'ok';
  }

  #bots(now: number): string[] {
    const { condition, window_ms: window } = this.#rule;
    if (condition === 'bots') return [...this.#matching.sample];
    if (condition === 'absence') return [];
    const from = now - (window ?? 0);
    return [...this.#lastBots].flatMap(([bot, at]) => (at >= from ? [bot] : [])).reverse();
  }
}

/** Three significant places are enough for a rate. */
function round(rate: number): number {
  return Number(rate.toPrecision(3));
}
