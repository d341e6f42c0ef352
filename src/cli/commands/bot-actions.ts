// `drover bots start`, `stop`, `restart` and `rm`: one action for one bot or many.

import {
  type ActionOutcome,
  ApiError,
  type BotAction,
  type BotActions,
  type BotFilter,
  type BotSnapshot,
  type Operation,
} from '../../client/index.js';
import { watchBots } from '../connection/bot-watch.js';
import { type Connection, type ConnectionOptions, connect } from '../connection/connection.js';
import { followOperation, operationBots } from '../connection/operation-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, selectedIds, selectorQuery } from '../flags/bot-selectors.js';
import { type PaceFlags, paceOf } from '../flags/pace-flags.js';
import { complain } from '../terminal/action.js';
import { printJson, printLine } from '../terminal/output.js';
import { complainOfChanges } from './changed-kinds.js';

/** Bots that a request can name. */
const MAX_IDS = 10_000;
/** So long the request itself waits, in ms: it shows no progress, and needs no scope `read`. */
const FIRST_WAIT_MS = 500;
/** How long a bot that had failed must run before its start counts as successful, in ms. */
const SETTLE_MS = 2000;
/** What a start can lead to that a running bot cannot have. */
const NOT_RUNNING: readonly string[] = ['failed', 'backoff', 'stopped', 'deleted'];

export interface ActionOptions extends ConnectionOptions, BotFilter, PaceFlags {
  /** False: the command does not wait for the end. */
  wait: boolean;
  json?: true;
}

/** Deletes leftovers: bots on the disk of a node that the cluster does not assign to it. */
export async function removeLeftovers(
  ids: readonly string[],
  node: string,
  options: ActionOptions,
): Promise<number> {
  const { client, call } = connect(options);
  for (const id of ids) {
    await client.bots.delete(id, { ...call(), node });
    if (!options.json) await printLine(`${id} deleted on ${node}`);
  }
  if (options.json)
    await printJson(Object.fromEntries(ids.map((id) => [id, { status: 'deleted' }])));
  return EXIT.ok;
}

export async function actOnBots(
  verb: BotAction,
  given: string[],
  options: ActionOptions,
): Promise<number> {
  const connection = connect(options);
  const ids = await selectedIds(connection, given, options);
  const failed = isStart(verb) ? await FailedBots.watch(connection, ids) : undefined;
  try {
    const [first] = ids;
    // For a single bot the exit code tells the kind of error.
    const isOne = ids.length === 1 && !isSelecting(options) && options.wait;
    if (first !== undefined && isOne) {
      return await actOnOne(connection, verb, first, failed, options);
    }
    return await actOnMany(connection, verb, ids, failed, options);
  } finally {
    failed?.close();
  }
}

function isStart(verb: BotAction): boolean {
  return verb === 'start' || verb === 'restart';
}

async function actOnOne(
  connection: Connection,
  verb: BotAction,
  id: string,
  failed: FailedBots | undefined,
  options: ActionOptions,
): Promise<number> {
  const { client, call } = connection;
  const bot = await client.bots[verb](id, call());
  const outcome = await settled(connection, id, bot?.status ?? 'deleted', failed);
  if (isStart(verb)) await complainOfChanges(connection, [id]);
  if ('error' in outcome) throw new CliError(EXIT.failed, `${id} ${outcome.error}`);
  if (options.json) await printJson({ [id]: outcome });
  else await printLine(`${id} ${outcome.status}`);
  return EXIT.ok;
}

async function actOnMany(
  connection: Connection,
  verb: BotAction,
  ids: readonly string[],
  failed: FailedBots | undefined,
  options: ActionOptions,
): Promise<number> {
  const { client, call } = connection;
  const actions: BotActions = { action: verb, ...selectionFor(ids, options), ...paceOf(options) };
  const wait = options.wait ? FIRST_WAIT_MS : 0;
  const { operation, results } = await client.bots.begin(actions, { ...call(), wait });
  if (!options.wait) {
    if (options.json) await printJson(operation);
    else await printLine(`${operation.id} ${operation.title}`);
    return EXIT.ok;
  }
  const outcomes = results ?? (await followedResults(connection, operation));
  const all: Record<string, ActionOutcome> = {};
  let errors = 0;
  const report = async (id: string, outcome: ActionOutcome): Promise<void> => {
    all[id] = outcome;
    if ('error' in outcome) {
      errors++;
      complain(`${id}: ${outcome.error}`);
    } else if (!options.json) await printLine(`${id} ${outcome.status}`);
  };
  const later: [id: string, status: string][] = [];
  for (const [id, outcome] of Object.entries(outcomes)) {
    if ('status' in outcome && (outcome.status === 'failed' || failed?.has(id))) {
      later.push([id, outcome.status]);
    } else await report(id, outcome);
  }
  for (const [id, status] of later) {
    await report(id, await settled(connection, id, status, failed));
  }
  if (isStart(verb)) await complainOfChanges(connection, ids);
  if (options.json) await printJson(all);
  return errors === 0 ? EXIT.ok : EXIT.failed;
}

/** Ids where the service takes so many; more are selected again by the service. */
function selectionFor(ids: readonly string[], options: ActionOptions): Partial<BotActions> {
  if (ids.length <= MAX_IDS) return { ids: [...ids] };
  return { query: selectorQuery(options) };
}

/** Shows how far it is, until it has ended. */
async function followedResults(
  connection: Connection,
  begun: Operation,
): Promise<Record<string, ActionOutcome>> {
  const { id, reason } = await followOperation(connection, begun);
  const bots = await operationBots(connection, id);
  if (reason !== null) complain(`${begun.title}: ${reason}`);
  return Object.fromEntries(
    bots.map(({ id: bot, result, status, error }): [string, ActionOutcome] => [
      bot,
      result === 'done' && status !== null ? { status } : { error: error ?? result },
    ]),
  );
}

/** @param status of a bot after the action. @returns the error of a bot that failed because of it. */
async function settled(
  { client, call }: Connection,
  id: string,
  status: string,
  failed: FailedBots | undefined,
): Promise<ActionOutcome> {
  const bot = status === 'failed' ? undefined : await failed?.settled(id);
  if ((bot?.status ?? status) !== 'failed') return { status: bot?.status ?? status };
  // The token may lack the scope `read`.
  const shown = bot ?? (await client.bots.get(id, call()).catch(() => undefined));
  return { error: `failed: ${shown?.last_error ?? 'unknown reason'}` };
}

/** A bot that had failed often fails again right after the service has answered its start. Owns a stream of such bots. */
class FailedBots {
  /** As they were before the action. */
  readonly #before: ReadonlyMap<string, BotSnapshot>;
  readonly #now = new Map<string, BotSnapshot>();
  /** Those that have been seen starting. A restart shows a bot as stopped before that. */
  readonly #started = new Set<string>();
  readonly #stop = new AbortController();
  #deadline: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #changed: () => void = () => {};

  private constructor(before: ReadonlyMap<string, BotSnapshot>) {
    this.#before = before;
  }

  /** Resolves when no change can be missed; with undefined when there is nothing to watch, or the token may not read. */
  static async watch(
    { client, call }: Connection,
    ids: readonly string[],
  ): Promise<FailedBots | undefined> {
    const wanted = new Set(ids);
    const all = await client.bots.list({ ...call(), status: ['failed'] }).catch((thrown) => {
      // The action itself reports the error. It does not need the scope `read`.
      if (thrown instanceof ApiError) return [];
      throw thrown;
    });
    const before = new Map(all.flatMap((bot) => (wanted.has(bot.id) ? [[bot.id, bot]] : [])));
    if (before.size === 0) return undefined;
    const bots = new FailedBots(before);
    await new Promise<void>((resolve) => {
      const { signal } = bots.#stop;
      const onState = ({ state }: { state: string }): void => {
        if (state !== 'connecting') resolve();
      };
      void bots.#read(watchBots(client, new Set(before.keys()), { signal, onState }));
    });
    return bots;
  }

  has(id: string): boolean {
    return this.#before.has(id);
  }

  /** The bot once it has failed again, or has run for long enough; undefined when that is unknown. */
  async settled(id: string): Promise<BotSnapshot | undefined> {
    if (!this.has(id)) return undefined;
    this.#deadline ??= new Promise((resolve) => {
      this.#timer = setTimeout(resolve, SETTLE_MS);
    });
    let isLate = false;
    const late = this.#deadline.then(() => {
      isLate = true;
    });
    while (!isLate && !this.#hasSettled(id)) {
      const change = new Promise<void>((resolve) => {
        this.#changed = resolve;
      });
      await Promise.race([change, late]);
    }
    const now = this.#now.get(id);
    return now?.since_ms === this.#before.get(id)?.since_ms ? undefined : now;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#stop.abort();
  }

  #hasSettled(id: string): boolean {
    const before = this.#before.get(id);
    const now = this.#now.get(id);
    if (!now || now.since_ms === before?.since_ms) return false;
    return NOT_RUNNING.includes(now.status) && (now.status !== 'stopped' || this.#started.has(id));
  }

  async #read(snapshots: AsyncIterable<BotSnapshot>): Promise<void> {
    try {
      for await (const bot of snapshots) {
        this.#now.set(bot.id, bot);
        if (bot.status === 'starting') this.#started.add(bot.id);
        this.#changed();
      }
    } catch {
      // The action itself reports a service that is gone.
    }
  }
}
