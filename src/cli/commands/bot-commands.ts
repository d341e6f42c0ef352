// Runs in the command line. Owns `drover bots`.

import { type Command, Option } from 'commander';
import type { BotFilter, BotSnapshot, NewBot, UpdateBotBody } from '../../client/index.js';
import { warnWhenCutOff } from '../connection/cluster-watch.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { selectBots, withBotSelectors } from '../flags/bot-selectors.js';
import { objectOf } from '../flags/config-flag.js';
import { showDuration } from '../flags/duration.js';
import { duration, labels, list } from '../flags/flag-values.js';
import { withPaceFlags } from '../flags/pace-flags.js';
import { parameterText } from '../flags/parameter-text.js';
import {
  type PlacementFlags,
  placementChange,
  placementOf,
  withNewPlacement,
  withPlacement,
} from '../flags/placement-flags.js';
import { type RestartFlags, restartOf, withRestartFlags } from '../flags/restart-flags.js';
import { action } from '../terminal/action.js';
import { print, printJson, printLine, table } from '../terminal/output.js';
import { type ActionOptions, actOnBots, removeLeftovers } from './bot-actions.js';
import { createMany } from './bot-create-many.js';
import { moveBot } from './bot-move.js';
import { addGroup, addHelp } from './help.js';

const HEAD = ['ID', 'KIND', 'STATUS', 'FOR', 'RESTARTS', 'LABELS', 'LAST ERROR'];
/** Index of the column NODE, which only a cluster has. */
const NODE_COLUMN = 3;

const MOVE_MS = 60_000;
const QUOTA_TEXT = 'limits of the bot, as JSON or @file, such as {"cpu":0.5}';

interface ListOptions extends ConnectionOptions, BotFilter {
  json?: true;
}

interface CreateOptions extends ConnectionOptions, RestartFlags, PlacementFlags {
  file?: string;
  wait: boolean;
  kind?: string;
  config?: string;
  label?: Record<string, string>;
  quota?: string;
  dedicated?: true;
  isolation?: NonNullable<NewBot['isolation']>;
  hostGroup?: string;
  stopped?: true;
  json?: true;
}

interface UpdateOptions extends ConnectionOptions, RestartFlags, PlacementFlags {
  config?: string;
  label?: Record<string, string>;
  removeLabel?: string[];
  quota?: string;
  json?: true;
}

export function addBots(program: Command): void {
  const bots = addGroup(
    program,
    'bots',
    'list, create, update, start, stop, restart, move and remove bots',
  );
  withBotSelectors(withConnection(bots.command('list').description('list bots')))
    .option('--json', 'print the snapshots as a JSON list')
    .action(action(listBots));
  withConnection(
    bots.command('show').description("print a bot's snapshot as JSON").argument('<id>'),
  ).action(action(showBot));
  withPlacement(
    withRestartFlags(
      withConnection(
        bots
          .command('create')
          .description('create a bot and start it, or with --file many')
          .argument('[id]'),
      )
        .option(
          '--file <file>',
          'create all bots of a file, or none: one as JSON on each line; - for standard input',
        )
        .option('--kind <kind>', 'kind of the bot')
        .option(
          '--config <json>',
          "the bot's configuration as JSON, or @file to read it from a file",
        )
        .option('--label <name=value>', 'label (comma-separated or repeated)', labels),
    ),
  )
    .option('--quota <json>', QUOTA_TEXT)
    .option('--dedicated', 'run the bot on a dedicated host')
    .addOption(
      new Option('--isolation <what>', 'whether its host is a thread or a process').choices([
        'thread',
        'process',
      ]),
    )
    .option('--host-group <name>', 'share a host with the bots of this group only')
    .option('--stopped', 'create the bot without starting it')
    .option('--no-wait', 'with --file: exit as soon as the bots are created')
    .option('--json', 'print the snapshot, or the operation, as JSON')
    .action(action(createBot));
  withNewPlacement(
    withRestartFlags(
      withConnection(
        bots
          .command('update')
          .description('change a bot; it restarts if its configuration changes')
          .argument('<id>'),
      )
        .option(
          '--config <json>',
          'keys of the configuration to change, as JSON or @file; null removes a key',
        )
        .option('--label <name=value>', 'label to set (comma-separated or repeated)', labels)
        .addOption(
          new Option(
            '--remove-label <name>',
            'label to remove (comma-separated or repeated)',
          ).argParser(list),
        ),
    ),
  )
    .option('--quota <json>', `${QUOTA_TEXT}; {} removes it`)
    .option('--json', 'print the snapshot as JSON')
    .action(action(updateBot));
  for (const [name, verb] of [
    ['start', 'start'],
    ['stop', 'stop'],
    ['restart', 'restart'],
    ['rm', 'delete'],
  ] as const) {
    const what = verb === 'delete' ? 'stop and delete bots' : `${verb} bots`;
    const command = withPaceFlags(
      withBotSelectors(withConnection(bots.command(name).description(what).argument('[id...]'))),
    ).option('--json', 'print the status or the error of each bot as JSON');
    if (verb === 'delete') {
      command.option('--left-on <node>', parameterText('DELETE /api/bots/{id}', 'node'));
    }
    command.action(
      action((ids: string[], { leftOn, ...options }: ActionOptions & { leftOn?: string }) =>
        leftOn === undefined
          ? actOnBots(verb, ids, options)
          : removeLeftovers(ids, leftOn, options),
      ),
    );
  }
  withConnection(
    bots
      .command('move')
      .description('move a bot, with its host group, to another node of the cluster')
      .argument('<id>'),
  )
    .requiredOption('--to <node>', 'node to move the bot to')
    .option('--no-wait', 'exit as soon as the move has started')
    .addOption(
      new Option('--within <time>', 'fail if the move takes longer than this')
        .argParser(duration)
        .default(MOVE_MS, '1m'),
    )
    .option('--json', 'print the snapshot as JSON')
    .action(action(moveBot));
  addHelp(bots);
}

async function listBots(options: ListOptions): Promise<undefined> {
  const connection = connect(options);
  const shown = await selectBots(connection, options);
  if (shown.some(({ node }) => node !== undefined)) await warnWhenCutOff(connection);
  if (options.json) await printJson(shown);
  else await print(botTable(shown));
}

function botTable(shown: readonly BotSnapshot[]): string {
  const rows = shown.map(row);
  if (shown.every(({ node }) => node === undefined)) return table(HEAD, rows);
  return table(
    HEAD.toSpliced(NODE_COLUMN, 0, 'NODE'),
    rows.map((cells, at) => cells.toSpliced(NODE_COLUMN, 0, shown[at]?.node ?? '-')),
  );
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

async function createBot(
  id: string | undefined,
  options: CreateOptions,
): Promise<number | undefined> {
  const { file, kind } = options;
  if (file !== undefined) {
    if (id === undefined && kind === undefined) return createMany({ ...options, file });
    throw new CliError(EXIT.usage, '--file has the bots: give no id and no --kind');
  }
  if (id === undefined || kind === undefined) {
    throw new CliError(EXIT.usage, 'give an id and --kind, or --file');
  }
  const { client, call } = connect(options);
  const bot: NewBot = { id, kind, labels: options.label ?? {} };
  if (options.config !== undefined) bot.config = objectOf('--config', options.config);
  const restart = restartOf(options);
  if (restart) bot.restart = restart;
  if (options.quota !== undefined) bot.quota = objectOf('--quota', options.quota);
  if (options.dedicated) bot.dedicated = true;
  if (options.isolation) bot.isolation = options.isolation;
  if (options.hostGroup !== undefined) bot.host_group = options.hostGroup;
  Object.assign(bot, placementOf(options));
  if (options.stopped) bot.desired = 'stopped';
  const created = await client.bots.create(bot, call());
  if (options.json) await printJson(created);
  else await printLine(`${created.id} ${created.status}`);
  return undefined;
}

async function updateBot(id: string, options: UpdateOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const change: UpdateBotBody = {};
  if (options.config !== undefined) change.config = objectOf('--config', options.config);
  const restart = restartOf(options);
  if (restart) change.restart = restart;
  if (options.quota !== undefined) change.quota = objectOf('--quota', options.quota);
  Object.assign(change, placementChange(options));
  if (options.label || options.removeLabel) {
    // The service replaces all labels.
    const { labels } = await client.bots.get(id, call());
    change.labels = { ...labels, ...options.label };
    for (const name of options.removeLabel ?? []) delete change.labels[name];
  }
  if (Object.keys(change).length === 0) {
    throw new CliError(
      EXIT.usage,
      'nothing to change; give --config, --label, --remove-label, --quota, --node, --node-label, --failover, --restart or another flag of the restart policy',
    );
  }
  const updated = await client.bots.update(id, change, call());
  if (options.json) await printJson(updated);
  else await printLine(`${updated.id} ${updated.status}`);
}
