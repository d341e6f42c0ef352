// Runs in the command line. Owns `drover operations`: what is done to many bots at once.

import type { Command } from 'commander';
import type { Operation, OperationBot } from '../../client/index.js';
import { OPERATION_CHANGES, type OperationChange } from '../../shared/contract/operation-bounds.js';
import { progressText } from '../../shared/contract/operation-text.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { exitCodeOf, followOperation, operationBots } from '../connection/operation-watch.js';
import { showDuration } from '../flags/duration.js';
import { count } from '../flags/flag-values.js';
import { parameterText } from '../flags/parameter-text.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';

const HEAD = ['ID', 'BEGAN', 'BY', 'STATE', 'DONE', 'FAILED', 'TITLE'];
/** Results that `show` lists the bots of. */
const TOLD = ['failed', 'skipped', 'unknown', 'running'] as const;

const CHANGES: Readonly<Record<OperationChange, string>> = {
  pause: 'begin no further bot until the operation is resumed',
  resume: 'continue a paused operation',
  cancel: 'begin no further bot; those that are running end',
};

type Options = ConnectionOptions & { json?: true };

export function addOperations(program: Command): void {
  const operations = addGroup(
    program,
    'operations',
    'list, show, watch, pause, resume and cancel what is done to many bots',
  );
  withConnection(
    operations
      .command('list', { isDefault: true })
      .description('list the operations of the last day, newest first; the default'),
  )
    .option('-n, --limit <n>', parameterText('GET /api/operations', 'limit'), count, LIMIT.default)
    .option('--json', 'print the operations as a JSON list')
    .action(action((options: Options & { limit: number }) => listOperations(options)));
  withConnection(
    operations
      .command('show')
      .description('show an operation, and its bots that are not done')
      .argument('<id>'),
  )
    .option('--json', 'print the operation with all of its bots as JSON')
    .action(action(showOperation));
  withConnection(
    operations
      .command('watch')
      .description('wait for the end of an operation, with a progress bar')
      .argument('<id>'),
  )
    .option('--json', 'print the operation as JSON when it has ended')
    .action(action(watchOperation));
  for (const change of OPERATION_CHANGES) {
    withConnection(operations.command(change).description(CHANGES[change]).argument('<id>'))
      .option('--json', 'print the operation as JSON')
      .action(action((id: string, options: Options) => changeOperation(change, id, options)));
  }
  addHelp(operations);
}

/** @param type lists only these. */
export async function listOperations(
  options: Options & { limit: number },
  type?: Operation['type'],
): Promise<undefined> {
  const { client, call } = connect(options);
  const list = await client.operations.list({ ...call(), limit: options.limit });
  const { missing = [] } = list;
  const operations = list.operations.filter((one) => type === undefined || one.type === type);
  for (const node of missing)
    complain(`operations of node ${node} are missing: it does not answer`);
  if (options.json) await printJson(operations);
  else await print(table(HEAD, operations.map(row)));
}

function row({ id, began_ms, actor, state, counts, bots, title }: Operation): string[] {
  const done = `${counts.done}/${bots}`;
  return [id, timeText(began_ms), actor.name, state, done, String(counts.failed), title];
}

export async function showOperation(id: string, options: Options): Promise<undefined> {
  const connection = connect(options);
  const { client, call } = connection;
  const operation = await client.operations.get(id, call());
  if (options.json) {
    const bots = await operationBots(connection, id);
    // `bots` of the operation is their number.
    return printJson({ operation, bots }).then(() => undefined);
  }
  for (const line of linesOf(operation)) await printLine(line);
  const bots = await operationBots(connection, id, TOLD);
  if (bots.length > 0) await printLine('');
  for (const bot of bots) await printLine(botLine(bot));
}

function linesOf(operation: Operation): string[] {
  const { id, actor, began_ms, ended_ms, options, node } = operation;
  const { parallel, stagger_ms, max_failed } = options;
  const took = ended_ms === null ? '' : ` (took ${showDuration(ended_ms - began_ms)})`;
  const facts: [name: string, value: string | undefined][] = [
    ['operation', id],
    ['what', progressText(operation)],
    ['by', actor.name],
    ['began', timeText(began_ms)],
    ['ended', ended_ms === null ? '-' : `${timeText(ended_ms)}${took}`],
    ['pace', `${parallel} at once, ${showDuration(stagger_ms)} apart`],
    ['may fail', max_failed === null ? 'any number' : String(max_failed)],
    ['node', node],
  ];
  return facts.flatMap(([name, value]) =>
    value === undefined ? [] : `${`${name}:`.padEnd(11)}${value}`,
  );
}

function botLine({ id, result, error }: OperationBot): string {
  return `${id} ${result}${error === null ? '' : `: ${error}`}`;
}

async function watchOperation(id: string, options: Options): Promise<number> {
  const connection = connect(options);
  const { client, call } = connection;
  const operation = await followOperation(connection, await client.operations.get(id, call()));
  if (options.json) await printJson(operation);
  else await printLine(progressText(operation));
  return exitCodeOf(operation);
}

export async function changeOperation(
  change: OperationChange,
  id: string,
  options: Options,
): Promise<undefined> {
  const { client, call } = connect(options);
  const operation = await client.operations[change](id, call());
  if (options.json) await printJson(operation);
  else await printLine(progressText(operation));
}
