// Runs in the command line. Owns `drover bots`.

import { readFileSync } from 'node:fs';
import { type Command, Option } from 'commander';
import type {
  ActionOutcome,
  BotAction,
  BotSnapshot,
  JsonObject,
  NewBot,
  RestartPolicy,
} from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { jsonObject, labels, list } from '../flags/flag-values.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table } from '../terminal/output.js';
import { showProgress } from '../terminal/progress.js';
import { addGroup, addHelp } from './help.js';

/** Bots per request: few enough for its time limit and for progress output. */
const BATCH = 50;
const HEAD = ['ID', 'KIND', 'STATUS', 'FOR', 'RESTARTS', 'LABELS', 'LAST ERROR'];

const POLICIES: readonly RestartPolicy['policy'][] = ['always', 'on-failure', 'never'];

interface ListOptions extends ConnectionOptions {
  status?: string[];
  kind?: string[];
  label?: Record<string, string>;
  json?: true;
}

interface CreateOptions extends ConnectionOptions {
  kind: string;
  config?: string;
  label?: Record<string, string>;
  restart?: RestartPolicy['policy'];
  dedicated?: true;
  stopped?: true;
  json?: true;
}

interface ManyOptions extends ConnectionOptions {
  label?: Record<string, string>;
  json?: true;
}

export function addBots(program: Command): void {
  const bots = addGroup(program, 'bots', 'list, create, start, stop, restart and remove bots');
  withConnection(bots.command('list').description('list bots'))
    .option('--status <status>', 'only with this status (comma-separated or repeated)', list)
    .option('--kind <kind>', 'only bots of these kinds (comma-separated or repeated)', list)
    .option(
      '--label <name=value>',
      'only with all of these labels (comma-separated or repeated)',
      labels,
    )
    .option('--json', 'print the snapshots as a JSON list')
    .action(action(listBots));
  withConnection(
    bots.command('show').description("print a bot's snapshot as JSON").argument('<id>'),
  ).action(action(showBot));
  withConnection(bots.command('create').description('create a bot and start it').argument('<id>'))
    .requiredOption('--kind <kind>', 'kind of the bot')
    .option('--config <json>', "the bot's configuration as JSON, or @file to read it from a file")
    .option('--label <name=value>', 'label (comma-separated or repeated)', labels)
    .addOption(
      new Option('--restart <policy>', 'when to restart the bot after it exits').choices(POLICIES),
    )
    .option('--dedicated', 'run the bot on a dedicated host thread')
    .option('--stopped', 'create the bot without starting it')
    .option('--json', 'print the snapshot as JSON')
    .action(action(createBot));
  for (const [name, verb] of [
    ['start', 'start'],
    ['stop', 'stop'],
    ['restart', 'restart'],
    ['rm', 'delete'],
  ] as const) {
    const what = verb === 'delete' ? 'stop and delete bots' : `${verb} bots`;
    withConnection(bots.command(name).description(what).argument('[id...]'))
      .option(
        '--label <name=value>',
        'all bots with these labels (comma-separated or repeated)',
        labels,
      )
      .option('--json', 'print the status or the error of each bot as JSON')
      .action(action((ids: string[], options: ManyOptions) => actOnBots(verb, ids, options)));
  }
  addHelp(bots);
}

async function listBots(options: ListOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { status = [], kind = [] } = options;
  const all = await client.bots.list({
    ...call(),
    ...(status.length > 0 && { status }),
    ...(kind.length > 0 && { kind }),
  });
  const wanted = Object.entries(options.label ?? {});
  const shown = all.filter((bot) => wanted.every(([name, value]) => bot.labels[name] === value));
  if (options.json) await printJson(shown);
  else await print(table(HEAD, shown.map(row)));
}

function row(bot: BotSnapshot): string[] {
  const { id, kind, status, since_ms, restarts, last_error } = bot;
  const all = Object.entries(bot.labels).map(([name, value]) => `${name}=${value}`);
  const age = showDuration(Math.max(0, Date.now() - since_ms));
  return [id, kind, status, age, String(restarts), all.join(','), last_error ?? ''];
}

async function showBot(id: string, options: ConnectionOptions): Promise<undefined> {
  const { client, call } = connect(options);
  await printJson(await client.bots.get(id, call()));
}

async function createBot(id: string, options: CreateOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const bot: NewBot = { id, kind: options.kind, labels: options.label ?? {} };
  if (options.config !== undefined) bot.config = configOf(options.config);
  if (options.restart) bot.restart = { policy: options.restart };
  if (options.dedicated) bot.dedicated = true;
  if (options.stopped) bot.desired = 'stopped';
  const created = await client.bots.create(bot, call());
  if (options.json) await printJson(created);
  else await printLine(`${created.id} ${created.status}`);
}

/** @throws CliError if the text is neither a JSON object nor the name of a file with one. */
function configOf(text: string): JsonObject {
  try {
    const json = text.startsWith('@') ? readFileSync(text.slice(1), 'utf8') : text;
    return jsonObject(json) as JsonObject;
  } catch (thrown) {
    throw new CliError(EXIT.usage, `--config ${text}: ${messageOf(thrown)}`);
  }
}

async function actOnBots(
  verb: BotAction,
  given: string[],
  options: ManyOptions,
): Promise<number | undefined> {
  const connection = connect(options);
  const [first, ...more] = given;
  // For a single bot the exit code tells the kind of error.
  if (first !== undefined && more.length === 0 && !options.label) {
    const { client, call } = connection;
    const bot = await client.bots[verb](first, call());
    const status = bot?.status ?? 'deleted';
    if (options.json) await printJson({ [first]: { status } });
    else await printLine(`${first} ${status}`);
    return EXIT.ok;
  }
  if (given.length === 0 && !options.label) {
    throw new CliError(EXIT.usage, 'no bots selected; give ids or --label');
  }
  const ids = [...new Set([...given, ...(await labelled(connection, options.label))])];
  const all: Record<string, ActionOutcome> = {};
  let failed = 0;
  for (let at = 0; at < ids.length; at += BATCH) {
    showProgress(`${verb}: ${at} of ${ids.length}`);
    const batch = ids.slice(at, at + BATCH);
    const results = await connection.client.bots.act(
      { action: verb, ids: batch },
      connection.call(),
    );
    Object.assign(all, results);
    for (const [id, outcome] of Object.entries(results)) {
      if ('error' in outcome) {
        failed++;
        complain(`${id}: ${outcome.error}`);
      } else if (!options.json) await printLine(`${id} ${outcome.status}`);
    }
  }
  if (options.json) await printJson(all);
  return failed === 0 ? EXIT.ok : EXIT.failed;
}

async function labelled(
  { client, call }: Connection,
  wanted: Record<string, string> | undefined,
): Promise<string[]> {
  if (!wanted) return [];
  const all = await client.bots.list(call());
  const ids = all
    .filter((bot) => Object.entries(wanted).every(([name, value]) => bot.labels[name] === value))
    .map(({ id }) => id);
  if (ids.length > 0) return ids;
  throw new CliError(
    EXIT.not_found,
    'no bot has these labels; list all bots with drover bots list',
  );
}
