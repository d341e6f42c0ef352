import type { BotAction, BotSnapshot, NewBot, Operation } from '../../../src/client/index.js';
import { hasEnded } from '../../../src/shared/contract/operation-bounds.js';
import { say, sayError, type ToastAction } from '../parts/toasts.js';
import { type PlainKey, t } from '../texts/text.js';
import { bots } from './live.js';
import { unfinishedBots } from './operations.js';
import { hrefTo } from './route.js';
import { api } from './session.js';
import { type Undo, undoOf } from './undo.js';

/** How long the page shows that an action runs, in ms, before it shows the operation instead. */
const WAIT_MS = 1500;
/** How long a request waits for the end of an operation, in ms. */
const END_WAIT_MS = 30_000;
/** Bots that are created at once. */
const AT_ONCE = 6;

const NAMES: Record<BotAction, PlainKey> = {
  start: 'action.start',
  stop: 'action.stop',
  restart: 'action.restart',
  delete: 'action.delete',
};
const DONE = {
  start: 'action.started',
  stop: 'action.stopped',
  restart: 'action.restarted',
  delete: 'action.deleted',
  create: 'action.createdAgain',
} as const;
const COULD_NOT = {
  start: 'action.couldNotStart',
  stop: 'action.couldNotStop',
  restart: 'action.couldNotRestart',
  delete: 'action.couldNotDelete',
} as const;
export const ACTIONS: readonly BotAction[] = ['start', 'stop', 'restart', 'delete'];

/** `Start`. */
export function actionText(action: BotAction): string {
  return t(NAMES[action]);
}

const CALLS: Record<BotAction, (id: string) => Promise<unknown>> = {
  start: (id) => api().bots.start(id),
  stop: (id) => api().bots.stop(id),
  restart: (id) => api().bots.restart(id),
  delete: (id) => api().bots.delete(id),
};

/** `1 bot`, `312 bots`. */
export function botsText(count: number): string {
  return t('count.bots', { n: count });
}

/**
 * One action on many bots, as one operation. @param onLong it takes longer, and a toast leads to it.
 * @returns the errors by id; undefined when its end is not known: the page has lost the service, and the operation continues.
 */
export async function actOn(
  action: BotAction,
  ids: readonly string[],
  onLong?: () => void,
): Promise<Map<string, string> | undefined> {
  const body = { action, ids: [...ids] };
  const { operation, results } = await api().bots.begin(body, { wait: WAIT_MS });
  if (results) {
    const all = Object.entries(results);
    return new Map(all.flatMap(([id, one]) => ('error' in one ? [[id, one.error]] : [])));
  }
  const link = { title: t('operation.show'), href: hrefTo('operations', operation.id) };
  say(t('operation.runs', { title: operation.title }), undefined, link);
  onLong?.();
  return errorsAtEnd(operation).catch(() => undefined);
}

async function errorsAtEnd(begun: Operation): Promise<Map<string, string>> {
  const { id } = begun;
  const { operations } = api();
  for (let now = begun; !hasEnded(now); ) {
    const asked = performance.now();
    now = await operations.get(id, { wait: END_WAIT_MS });
    // A service where many wait answers earlier.
    const isEarly = !hasEnded(now) && performance.now() - asked < END_WAIT_MS / 2;
    if (isEarly) await new Promise((resolve) => setTimeout(resolve, END_WAIT_MS / 2));
  }
  const bots = await unfinishedBots(id, Number.POSITIVE_INFINITY);
  return new Map(bots.map((bot) => [bot.id, bot.error ?? t('operation.noReason')]));
}

/** What is needed to undo an action. */
export interface Before {
  /** The bots as they were. */
  bots: ReadonlyMap<string, BotSnapshot>;
  /** What deleted bots can be created from. */
  known?: ReadonlyMap<string, NewBot> | undefined;
}

/** To be called before an action. */
export function asBefore(ids: readonly string[]): Before['bots'] {
  return new Map(
    ids.flatMap((id): [string, BotSnapshot][] => {
      const bot = bots.get(id);
      return bot ? [[id, bot]] : [];
    }),
  );
}

/** One action on one bot, with a toast. @returns whether it succeeded. */
export async function actOnOne(
  action: BotAction,
  id: string,
  known?: Before['known'],
): Promise<boolean> {
  const before = { bots: asBefore([id]), known };
  try {
    await CALLS[action](id);
    say(t(DONE[action], { what: id }), undoAction(undoOf(action, [id], before.bots, known)));
    return true;
  } catch (thrown) {
    sayError(thrown, t(COULD_NOT[action], { bot: id }));
    return false;
  }
}

/** Shows the outcome of an action on many bots as toasts. */
export function showOutcome(
  action: BotAction,
  ids: readonly string[],
  errors: ReadonlyMap<string, string>,
  before?: Before,
): void {
  const done = ids.filter((id) => !errors.has(id));
  const undo = before && undoOf(action, done, before.bots, before.known);
  if (done.length > 0) say(t(DONE[action], { what: botsText(done.length) }), undoAction(undo));
  showErrors(errors, t('action.failed', { action: actionText(action) }));
}

function showErrors(errors: ReadonlyMap<string, string>, what: string): void {
  const [first] = errors;
  if (!first) return;
  const more = errors.size > 1 ? ` (${t('count.more', { n: errors.size - 1 })})` : '';
  sayError(`${first[0]}: ${first[1]}${more}`, what);
}

function undoAction(undo: Undo | undefined): ToastAction | undefined {
  if (!undo) return undefined;
  const run = async (): Promise<void> => {
    const { action, ids } = undo;
    try {
      const errors = await (action === 'create' ? createAll(undo.bots) : actOn(action, ids));
      if (!errors) return;
      const count = ids.length - errors.size;
      if (count > 0) say(t('action.undone', { done: t(DONE[action], { what: botsText(count) }) }));
      showErrors(errors, t('action.undoFailed'));
    } catch (thrown) {
      sayError(thrown, t('action.undoFailed'));
    }
  };
  return { title: t('button.undo'), run: () => void run() };
}

/** @returns the errors by id. */
async function createAll(all: readonly NewBot[]): Promise<Map<string, string>> {
  const errors = new Map<string, string>();
  const rest = [...all];
  const work = async (): Promise<void> => {
    for (let bot = rest.shift(); bot; bot = rest.shift()) {
      try {
        await api().bots.create(bot);
      } catch (thrown) {
        errors.set(bot.id, thrown instanceof Error ? thrown.message : String(thrown));
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return errors;
}
