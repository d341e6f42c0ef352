// Finds the action that undoes an action on bots, if there is one.

import type { BotAction, BotSnapshot, NewBot } from '../../../src/client/index.js';
import { isStopped } from './stopped.js';

/** An action that undoes another, for a while. */
export interface Undo {
  action: 'start' | 'stop' | 'create';
  ids: readonly string[];
  /** The bots to create; empty for the other actions. */
  bots: readonly NewBot[];
}

/**
 * @param done the bots with which the action succeeded. @param before the bots as they were. @param known what deleted bots can be
 * created from.
 * @returns undefined when nothing can be taken back: a restart has happened, and bots that already were as asked have not changed.
 */
export function undoOf(
  action: BotAction,
  done: readonly string[],
  before: ReadonlyMap<string, Pick<BotSnapshot, 'status' | 'desired'>>,
  known: ReadonlyMap<string, NewBot> = new Map(),
): Undo | undefined {
  const wasStopped = (id: string): boolean => {
    const bot = before.get(id);
    return bot !== undefined && isStopped(bot);
  };
  const undo = (what: Undo['action'], ids: readonly string[], bots: readonly NewBot[] = []) =>
    ids.length === 0 ? undefined : { action: what, ids, bots };
  switch (action) {
    case 'stop':
      return undo(
        'start',
        done.filter((id) => before.has(id) && !wasStopped(id)),
      );
    case 'start':
      return undo('stop', done.filter(wasStopped));
    case 'delete': {
      const bots = done.flatMap((id) => known.get(id) ?? []);
      return undo(
        'create',
        bots.map(({ id }) => id),
        bots,
      );
    }
    default:
      return undefined;
  }
}
