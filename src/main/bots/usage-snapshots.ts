// Runs in main. Decides when what a bot uses goes into its snapshot, and so onto the stream. Owns the times of these events.

import type { BotSnapshot, BotUsage } from '../../shared/contract/events.js';
import { isNotable } from './usage-figures.js';

/** The usage that is shown of a bot. */
export type ShownUsage = Pick<BotSnapshot, 'usage' | 'over_quota'>;

export interface BotWithUsage extends ShownUsage {
  id: string;
}

export interface UsageSnapshotActions {
  /** The usage in its snapshot; undefined for a bot that does not run. */
  shown(id: string): ShownUsage | undefined;
  /** Publishes a `session` event. */
  publish(bot: BotWithUsage): void;
}

/** A bot has at most one event for it in this time, in ms. */
const EVERY_MS = 10_000;
/** Events at once. The bots that use most of a processor come first; the others follow with the next windows. */
const MAX_AT_ONCE = 1000;

export class UsageSnapshots {
  readonly #actions: UsageSnapshotActions;
  readonly #now: () => number;
  /** By bot, within EVERY_MS. Bounded by the bots. */
  readonly #publishedAt = new Map<string, number>();

  /** @param now a monotonic clock in ms. */
  constructor(actions: UsageSnapshotActions, now = () => performance.now()) {
    this.#actions = actions;
    this.#now = now;
  }

  /** @returns whether some have to wait: they are to be given again. */
  show(bots: readonly BotWithUsage[]): boolean {
    const now = this.#now();
    for (const [id, at] of this.#publishedAt) {
      if (now - at >= EVERY_MS) this.#publishedAt.delete(id);
    }
    const changed = bots.filter((bot) => {
      const shown = this.#actions.shown(bot.id);
      return (
        shown !== undefined &&
        (isNotable(shown.usage, bot.usage) || shown.over_quota.join() !== bot.over_quota.join())
      );
    });
    const due = changed
      .filter(({ id }) => !this.#publishedAt.has(id))
      .sort((one, other) => cpuOf(other.usage) - cpuOf(one.usage))
      .slice(0, MAX_AT_ONCE);
    for (const bot of due) {
      this.#publishedAt.set(bot.id, now);
      this.#actions.publish(bot);
    }
    return due.length < changed.length;
  }
}

function cpuOf(usage: BotUsage | null): number {
  return usage?.cpu ?? 0;
}
