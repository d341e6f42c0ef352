// The bots that a table shows, in its order. With thousands of bots a look at all of them takes longer than a frame, so it is
// brought up to date with those that changed.

import type { BotSnapshot } from '../../../src/client/index.js';
import type { ChangedIds } from '../model/changed-ids.js';
import { firstWhere } from '../model/first-where.js';

export type Compare = (a: BotSnapshot, b: BotSnapshot) => number;

export interface ShownParts {
  bots: ReadonlyMap<string, BotSnapshot>;
  changed: Pick<ChangedIds, 'since'>;
  test: (bot: BotSnapshot, now: number) => boolean;
  /** The test depends on the time: bots that did not change may come or go. */
  isTimed: boolean;
  /** No two bots are equal. @param of what it will compare. */
  order(of: readonly BotSnapshot[]): Compare;
}

/** Above this share of all bots, sorting all is cheaper than inserting each bot that changed. */
const MANY = 1 / 8;

export class ShownBots {
  readonly #parts: ShownParts;
  #shown: readonly BotSnapshot[] = [];
  #version = -1;

  constructor(parts: ShownParts) {
    this.#parts = parts;
  }

  /** @param now Unix epoch ms. @returns the same array while nothing has changed. */
  look(now: number): readonly BotSnapshot[] {
    const { bots, changed, isTimed } = this.#parts;
    const { version, ids } = changed.since(this.#version);
    this.#version = version;
    if (isTimed || !ids || ids.size > bots.size * MANY) this.#shown = this.#all(now);
    else if (ids.size > 0) this.#shown = this.#withChanged(ids, now);
    return this.#shown;
  }

  #all(now: number): readonly BotSnapshot[] {
    const { bots, test, order } = this.#parts;
    // In the last order, which is nearly the next one.
    const known = new Set<string>();
    const found: BotSnapshot[] = [];
    const take = (bot: BotSnapshot | undefined): void => {
      if (!bot || known.has(bot.id)) return;
      known.add(bot.id);
      if (test(bot, now)) found.push(bot);
    };
    for (const { id } of this.#shown) take(bots.get(id));
    for (const bot of bots.values()) take(bot);
    return found.sort(order(found));
  }

  #withChanged(ids: ReadonlySet<string>, now: number): readonly BotSnapshot[] {
    const { bots, test, order } = this.#parts;
    const others = this.#shown.filter(({ id }) => !ids.has(id));
    const more = [...ids].flatMap((id) => bots.get(id) ?? []).filter((bot) => test(bot, now));
    const compare = order(more);
    more.sort(compare);
    const merged: BotSnapshot[] = [];
    let taken = 0;
    for (const bot of more) {
      const at = firstWhere(
        taken,
        others.length,
        (index) => compare(others[index] as BotSnapshot, bot) >= 0,
      );
      for (; taken < at; taken++) merged.push(others[taken] as BotSnapshot);
      merged.push(bot);
    }
    for (; taken < others.length; taken++) merged.push(others[taken] as BotSnapshot);
    return merged;
  }
}
