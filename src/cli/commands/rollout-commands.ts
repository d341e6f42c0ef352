// Runs in the command line. Owns `drover rollout`: another version or configuration for bots, one after the other, and the way back.

import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import type { BotFilter, Operation, StartRollout } from '../../client/index.js';
import { hasEnded, type RolloutChange } from '../../shared/contract/operation-bounds.js';
import { progressText } from '../../shared/contract/operation-text.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { exitCodeOf, followOperation, operationBots } from '../connection/operation-watch.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { isSelecting, selectorQuery, withBotSelectors } from '../flags/bot-selectors.js';
import { timeSpan, wholeNumber } from '../flags/flag-values.js';
import { type PaceFlags, paceOf, withPaceFlags } from '../flags/pace-flags.js';
import { action, complain } from '../terminal/action.js';
import { printJson, printLine } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';
import { changeOperation, listOperations, showOperation } from './operation-commands.js';

type Options = ConnectionOptions & { json?: true };

interface StartOptions extends Options, BotFilter, PaceFlags {
  set?: Record<string, unknown>;
  version?: string;
  canary?: number;
  promoteAfter?: number;
  healthy?: number;
  wait: boolean;
}

/** How often, and how many ms apart, the operation is asked for that takes back a rollout. */
const UNDO_TRIES = 50;
const UNDO_MS = 100;

const CHANGES: Readonly<Record<RolloutChange, string>> = {
  promote: 'let a rollout continue after its canaries',
  abort: 'end a rollout, and take back what it has changed',
  revert: 'take back a rollout that has ended',
};

export function addRollout(program: Command): void {
  const rollout = addGroup(
    program,
    'rollout',
    'give bots another version of their kind or another configuration, with a way back',
  );
  withPaceFlags(
    withBotSelectors(
      withConnection(
        rollout
          .command('start')
          .description(
            'begin a rollout of a kind as its files are now, of a configuration with --set, or of both',
          )
          .argument('[kind]', 'without selectors all of its bots'),
      ),
      ['status', 'label', 'node', 'query'],
    ),
    10,
  )
    .option(
      '--set <key=value>',
      'key of the configuration to change; null removes it (repeated)',
      setting,
    )
    .option('--version <id>', 'a version of the kind that is still known, in place of its files')
    .option('--canary <n>', 'how many bots are changed first; then the rollout waits', wholeNumber)
    .option('--promote-after <time>', 'continue by itself so long after the canaries', timeSpan)
    .addOption(
      new Option('--healthy <time>', 'how long a bot may take to be ready, or has to run')
        .argParser(timeSpan)
        .default(undefined, '30s'),
    )
    .option('--json', 'print the operation as JSON')
    .action(action(startRollout));
  withConnection(
    rollout
      .command('watch')
      .description('wait for the end of a rollout, with a progress bar')
      .argument('<id>'),
  )
    .option('--json', 'print the operation as JSON when it has ended')
    .action(action(watchRollout));
  for (const change of ['promote', 'abort', 'revert'] as const) {
    withConnection(rollout.command(change).description(CHANGES[change]).argument('<id>'))
      .option('--no-wait', 'exit as soon as that has begun')
      .option('--json', 'print the operation as JSON')
      .action(
        action((id: string, options: Options & { wait: boolean }) =>
          changeRollout(change, id, options),
        ),
      );
  }
  for (const change of ['pause', 'resume'] as const) {
    withConnection(rollout.command(change).description(`${change} a rollout`).argument('<id>'))
      .option('--json', 'print the operation as JSON')
      .action(action((id: string, options: Options) => changeOperation(change, id, options)));
  }
  withConnection(rollout.command('list').description('list operations, rollouts among them'))
    .option('--json', 'print the operations as a JSON list')
    .action(action((options: Options) => listOperations({ ...options, limit: 100 }, 'rollout')));
  withConnection(
    rollout
      .command('show')
      .description('show a rollout, and its bots that are not done')
      .argument('<id>'),
  )
    .option('--json', 'print the operation with all of its bots as JSON')
    .action(action(showOperation));
  addHelp(rollout);
}

async function startRollout(kind: string | undefined, options: StartOptions): Promise<number> {
  const { set: config, version, canary, promoteAfter, healthy } = options;
  if (kind === undefined && config === undefined) {
    throw new CliError(EXIT.usage, 'give a kind, or --set with --query or other selectors');
  }
  const body: StartRollout = {
    ...(kind !== undefined && { kind }),
    ...(config && { config }),
    ...(version !== undefined && { version }),
    ...(canary !== undefined && { canary }),
    ...(promoteAfter !== undefined && { promote_after_ms: promoteAfter }),
    ...(healthy !== undefined && { healthy_ms: healthy }),
    ...(isSelecting(options) && { query: selectorQuery(options) }),
    ...paceOf(options),
  };
  const connection = connect(options);
  const begun = await connection.client.operations.startRollout(body, connection.call());
  if (!options.json) await printLine(`${begun.id} ${begun.title}`);
  return options.wait ? follow(connection, begun, options, true) : told(begun, options);
}

async function watchRollout(id: string, options: Options): Promise<number> {
  const connection = connect(options);
  const { client, call } = connection;
  return follow(connection, await client.operations.get(id, call()), options, false);
}

async function changeRollout(
  change: RolloutChange,
  id: string,
  options: Options & { wait: boolean },
): Promise<number> {
  const connection = connect(options);
  const { client, call } = connection;
  const changed = await client.operations[change](id, call());
  if (!options.wait) return told(changed, options);
  return follow(connection, changed, options, false);
}

/** Until it has ended, and what takes it back too. @param leaves whether it is left when it waits after its canaries. */
async function follow(
  connection: Connection,
  begun: Operation,
  options: Options,
  leaves: boolean,
): Promise<number> {
  const isOver = ({ rollout }: Operation): boolean => leaves && rollout?.waits === true;
  const operation = await followOperation(connection, begun, isOver);
  if (!hasEnded(operation)) {
    const { id } = operation;
    complain(
      `the canaries are healthy, and the rollout waits: drover rollout promote ${id} continues it, drover rollout abort ${id} takes it back`,
    );
    return told(operation, options);
  }
  if (!options.json) {
    for (const bot of await operationBots(connection, operation.id, ['failed'])) {
      complain(`${bot.id}: ${bot.error}`);
    }
  }
  await told(operation, options);
  const undoing = operation.state === 'stopped' ? await undoingOf(connection, operation.id) : null;
  if (!undoing) return exitCodeOf(operation);
  const undone = await followOperation(connection, undoing);
  if (!options.json) await printLine(progressText(undone));
  return EXIT.failed;
}

/** A rollout that has stopped takes itself back right after its end. */
async function undoingOf({ client, call }: Connection, id: string): Promise<Operation | null> {
  for (let tries = 0; tries < UNDO_TRIES; tries++) {
    const { rollout } = await client.operations.get(id, call());
    if (rollout?.undone_by) return client.operations.get(rollout.undone_by, call());
    await delay(UNDO_MS);
  }
  return null;
}

async function told(operation: Operation, { json }: Options): Promise<number> {
  if (json) await printJson(operation);
  else await printLine(progressText(operation));
  return EXIT.ok;
}

/** `key=value`, or `a.b=value` for a key inside; the value is JSON or else text. */
function setting(text: string, before: Record<string, unknown> = {}): Record<string, unknown> {
  const [, path = '', given = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (path === '') throw new CliError(EXIT.usage, `--set ${text}: it must be key=value`);
  let value: unknown = given;
  try {
    value = JSON.parse(given);
  } catch {
    // Text needs no quotes.
  }
  const names = path.split('.');
  const last = names.pop() as string;
  const config = structuredClone(before);
  let inner = config;
  for (const name of names) {
    const below = inner[name];
    const next = (typeof below === 'object' && below !== null ? below : {}) as Record<
      string,
      unknown
    >;
    inner[name] = next;
    inner = next;
  }
  inner[last] = value;
  return config;
}
