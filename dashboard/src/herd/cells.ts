// Runs in tabs. Owns the list of cells of the herd: the bot, the state and the group of each.

import type { BotSnapshot, OperationBot } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { toneOf } from '../parts/tone.js';
import { type PlainKey, t } from '../texts/text.js';
import { type Group, type Grouping, groupKey, hostKey, ordered } from './grouping.js';

/** What a cell shows: the tone of the status, that the bot's host hangs, that it was taken back, or that nobody knows, in the order of the legend. */
export const STATES = ['held', 'bad', 'back', 'wait', 'busy', 'good', 'off', 'unknown'] as const;
export type CellState = (typeof STATES)[number];

/** Shown instead of the status of a bot whose host hangs. No bot can report it: it has a space. */
export const HELD = 'host hangs';
/** Likewise, for a bot whose status at a past moment is unknown. */
export const UNKNOWN = 'not known';
/** Likewise, what an operation has made of a bot. */
export const RESULTS: Readonly<Record<OperationBot['result'] | 'back', string>> = {
  waiting: 'operation waiting',
  running: 'operation running',
  done: 'operation done',
  failed: 'operation failed',
  skipped: 'operation skipped',
  unknown: 'operation unknown',
  back: 'operation back',
};
const OWN: ReadonlyMap<string, { state: CellState; text: PlainKey }> = new Map([
  [HELD, { state: 'held', text: 'herd.hangs' }],
  [UNKNOWN, { state: 'unknown', text: 'herd.unknown' }],
  [RESULTS.waiting, { state: 'off', text: 'operation.waiting' }],
  [RESULTS.running, { state: 'busy', text: 'operation.changing' }],
  [RESULTS.done, { state: 'good', text: 'operation.done' }],
  [RESULTS.failed, { state: 'bad', text: 'operation.failed' }],
  [RESULTS.skipped, { state: 'off', text: 'operation.skipped' }],
  [RESULTS.unknown, { state: 'unknown', text: 'herd.unknown' }],
  [RESULTS.back, { state: 'back', text: 'operation.back' }],
]);

/** The result of an update. */
export type Change = 'nothing' | 'order' | readonly number[];

/** What a cell needs of a bot. */
export type CellBot = Pick<BotSnapshot, 'id' | 'kind' | 'host' | 'labels' | 'status'> & {
  node?: string | undefined;
};

export class Cells {
  /** By index, as the next four. */
  ids: string[] = [];
  states: CellState[] = [];
  /** The bot's status, or HELD. */
  statuses: string[] = [];
  groups: Group[] = [];
  readonly #index = new Map<string, number>();
  #keys: string[] = [];
  #by: Grouping | undefined;

  get count(): number {
    return this.ids.length;
  }

  indexOf(id: string): number | undefined {
    return this.#index.get(id);
  }

  /** @param held keys of the hosts that hang. @returns the indices of the cells that have changed, or that all have. */
  update(bots: ReadonlyMap<string, CellBot>, by: Grouping, held: ReadonlySet<string>): Change {
    if (by !== this.#by || bots.size !== this.ids.length) return this.#order(bots, by, held);
    const changed: number[] = [];
    for (const [at, id] of this.ids.entries()) {
      const bot = bots.get(id);
      if (!bot || groupKey(bot, by) !== this.#keys[at]) return this.#order(bots, by, held);
      const status = shownStatus(bot, held);
      if (status === this.statuses[at]) continue;
      this.statuses[at] = status;
      this.states[at] = stateOf(status);
      changed.push(at);
    }
    return changed.length === 0 ? 'nothing' : changed;
  }

  #order(bots: ReadonlyMap<string, CellBot>, by: Grouping, held: ReadonlySet<string>): Change {
    this.#by = by;
    const found = ordered(bots.values(), by);
    this.groups = found.groups;
    this.ids = found.bots.map(({ id }) => id);
    this.#keys = found.bots.map((bot) => groupKey(bot, by));
    this.statuses = found.bots.map((bot) => shownStatus(bot, held));
    this.states = this.statuses.map(stateOf);
    this.#index.clear();
    for (const [at, id] of this.ids.entries()) this.#index.set(id, at);
    return 'order';
  }
}

export function shownStatus(
  bot: Pick<CellBot, 'host' | 'node' | 'status'>,
  held: ReadonlySet<string>,
): string {
  const isHeld = held.size > 0 && bot.host !== null && held.has(hostKey(bot.node, bot.host));
  return isHeld ? HELD : bot.status;
}

/** A status in words: that of a bot is as the bot reports it. */
export function statusText(status: string): string {
  const own = OWN.get(status);
  return own ? t(own.text) : visible(status);
}

/** Whether it is shown instead of a status. */
export function isOwn(status: string): boolean {
  return OWN.has(status);
}

export function stateOf(status: string): CellState {
  return OWN.get(status)?.state ?? toneOf(status);
}
