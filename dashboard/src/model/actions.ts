import type { BotAction } from '../../../src/client/index.js';
import { say, sayError } from '../parts/toasts.js';
import { api } from './session.js';

/** Ids per request; the service accepts 10,000. */
const MAX_IDS = 5000;

export const ACTION_NAMES: Record<BotAction, string> = {
  start: 'Start',
  stop: 'Stop',
  restart: 'Restart',
  delete: 'Delete',
};
const DONE: Record<BotAction, string> = {
  start: 'started',
  stop: 'stopped',
  restart: 'restarted',
  delete: 'deleted',
};

const CALLS: Record<BotAction, (id: string) => Promise<unknown>> = {
  start: (id) => api().bots.start(id),
  stop: (id) => api().bots.stop(id),
  restart: (id) => api().bots.restart(id),
  delete: (id) => api().bots.delete(id),
};

/** @returns the errors by id. */
export async function actOn(
  action: BotAction,
  ids: readonly string[],
): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  for (let from = 0; from < ids.length; from += MAX_IDS) {
    const results = await api().bots.act({ action, ids: ids.slice(from, from + MAX_IDS) });
    for (const [id, outcome] of Object.entries(results)) {
      if ('error' in outcome) errors.set(id, outcome.error);
    }
  }
  return errors;
}

/** One action on one bot, with a toast. @returns whether it succeeded. */
export async function actOnOne(action: BotAction, id: string): Promise<boolean> {
  try {
    await CALLS[action](id);
    say(`${id} ${DONE[action]}`);
    return true;
  } catch (thrown) {
    sayError(thrown, `Could not ${action} ${id}`);
    return false;
  }
}

/** Shows the outcome of an action on many bots as toasts. */
export function showOutcome(
  action: BotAction,
  ids: readonly string[],
  errors: ReadonlyMap<string, string>,
): void {
  const done = ids.length - errors.size;
  if (done > 0) say(`${done.toLocaleString('en')} ${done === 1 ? 'bot' : 'bots'} ${DONE[action]}`);
  const [first] = errors;
  if (!first) return;
  const more = errors.size > 1 ? ` (and ${errors.size - 1} more)` : '';
  sayError(`${first[0]}: ${first[1]}${more}`, `${ACTION_NAMES[action]} failed`);
}
