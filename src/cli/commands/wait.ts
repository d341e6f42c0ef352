import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { ApiError, type BotFilter, type BotSnapshot, DroverClient } from '../../client/index.js';
import { watchBots } from '../connection/bot-watch.js';
import {
  type ConnectionOptions,
  connect,
  givenUrl,
  limit,
  targetOf,
  withConnection,
} from '../connection/connection.js';
import { StreamWatch } from '../connection/stream-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, selectedIds, withBotSelectors } from '../flags/bot-selectors.js';
import { showDuration } from '../flags/duration.js';
import { duration, list } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action } from '../terminal/action.js';
import { printJson, printLine } from '../terminal/output.js';
import { elapsed, followProgress } from '../terminal/progress.js';

const POLL_MS = 200;
/** Bots that a message names; the rest is counted. */
const NAMED_BOTS = 5;

interface WaitOptions extends ConnectionOptions {
  /** What to wait for. */
  status?: string[];
  kind?: string[];
  label?: string[];
  timeout: number;
  json?: true;
}

export function addWait(program: Command): void {
  const command = withConnection(program.command('wait'), { timeout: false });
  withBotSelectors(command, ['kind', 'label'])
    .description(
      'wait until a bot has a status, or all bots of a kind or label; without a bot, until the service answers',
    )
    .argument('[bot]')
    .option(
      '--status <status>',
      'status to wait for; any of several (comma-separated or repeated)',
      list,
    )
    .addOption(
      new Option('--timeout <time>', 'fail after this time')
        .argParser(duration)
        .default(30_000, '30s'),
    )
    .option(
      '--json',
      "print the bot's snapshot (of several, each by its id), or the service's address and the elapsed ms, as JSON",
    )
    .action(action(wait));
}

async function wait(bot: string | undefined, options: WaitOptions): Promise<undefined> {
  const { status: wanted = [], timeout } = options;
  const selectors: BotFilter = { kind: options.kind, label: options.label };
  const isMany = isSelecting(selectors);
  if (bot === undefined && !isMany) {
    if (wanted.length > 0)
      throw new CliError(EXIT.usage, '--status needs a bot, --kind or --label');
    await waitForService(options);
    return;
  }
  if (wanted.length === 0)
    throw new CliError(EXIT.usage, 'add --status with the status to wait for');
  const { client } = connect(options);
  const began = performance.now();
  const deadline = limit(timeout);
  const call = () => ({ signal: deadline });
  const given = bot === undefined ? [] : [bot];
  const ids = await selectedIds({ client, call }, given, selectors);
  // Fails if there is no such bot; a stream would stay silent.
  if (bot !== undefined) await client.bots.get(bot, call());
  const last = new Map<string, BotSnapshot>();
  const waiting = new Set(ids);
  const connection = new StreamWatch();
  followProgress(() => {
    const what = `waiting for ${namesOf(waiting)} to be ${wanted.join(' or ')}`;
    const status = onlyStatus(waiting, last);
    const is = status === undefined ? '' : `, it is ${status}`;
    return `${what}${is}: ${elapsed(began, timeout)}`;
  });
  const { onState } = connection;
  for await (const snapshot of watchBots(client, new Set(ids), { signal: deadline, onState })) {
    const { id, status, last_error } = snapshot;
    if (!waiting.has(id)) continue;
    last.set(id, snapshot);
    if (wanted.includes(status)) {
      waiting.delete(id);
      if (!options.json) {
        await printLine(`${id} ${status} after ${showDuration(performance.now() - began)}`);
      }
      if (waiting.size > 0) continue;
      if (options.json) await printJson(isMany ? Object.fromEntries(last) : snapshot);
      return;
    }
    if (status === 'deleted') throw new CliError(EXIT.not_found, `${id} was deleted`);
    if (status === 'failed') {
      throw new CliError(EXIT.failed, `${id} failed: ${last_error ?? 'unknown reason'}`);
    }
  }
  stopSignal.throwIfAborted();
  const was = waiting.size === 1 ? 'was' : 'were';
  const what = `${namesOf(waiting)} ${was} not ${wanted.join(' or ')} within ${showDuration(timeout)}`;
  if (connection.disconnects > 0 && connection.blind !== null) {
    throw new CliError(EXIT.no_service, `${what}; ${connection.blind}`);
  }
  if (waiting.size > 1) throw new CliError(EXIT.timeout, what);
  const status = onlyStatus(waiting, last);
  const is = status === undefined ? 'its status was not received' : `it is ${status}`;
  throw new CliError(EXIT.timeout, `${what}; ${is}`);
}

/** The first few of them. */
function namesOf(ids: ReadonlySet<string>): string {
  const named = [...ids].slice(0, NAMED_BOTS).join(', ');
  const more = ids.size - NAMED_BOTS;
  return more > 0 ? `${named} and ${more} more` : named;
}

/** The last status of the only one; undefined for several, or if none was received. */
function onlyStatus(
  ids: ReadonlySet<string>,
  last: ReadonlyMap<string, BotSnapshot>,
): string | undefined {
  const [id = ''] = ids;
  return ids.size === 1 ? last.get(id)?.status : undefined;
}

async function waitForService(options: WaitOptions): Promise<void> {
  const url = givenUrl(options) ?? targetOf(options).url;
  const client = new DroverClient({ url });
  const began = performance.now();
  const deadline = limit(options.timeout);
  followProgress(() => `waiting for ${url}: ${elapsed(began, options.timeout)}`);
  for (;;) {
    try {
      await client.health({ signal: deadline });
      const afterMs = performance.now() - began;
      if (options.json) await printJson({ url, after_ms: Math.round(afterMs) });
      else await printLine(`${url} is up after ${showDuration(afterMs)}`);
      return;
    } catch (thrown) {
      stopSignal.throwIfAborted();
      if (deadline.aborted) {
        const message = `no service answered at ${url} within ${showDuration(options.timeout)}`;
        throw new CliError(EXIT.timeout, message);
      }
      if (!(thrown instanceof ApiError && thrown.isPassing)) throw thrown;
    }
    await delay(POLL_MS, undefined, { signal: deadline }).catch(() => {});
  }
}
