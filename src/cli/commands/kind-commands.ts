// `drover kinds`: the kinds that a service has.

import type { Command } from 'commander';
import type { KindList } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { complainOfChange } from './changed-kinds.js';
import { addGroup, addHelp } from './help.js';
import { addKindNew } from './kind-new.js';
import { addKindTest } from './kind-test.js';

const HEAD = ['KIND', 'COMMANDS', 'DESCRIPTION'];

export function addKinds(program: Command): void {
  const kinds = addGroup(
    program,
    'kinds',
    'list, show, test and create kinds of bots, and release them from quarantine',
  );
  withConnection(
    kinds
      .command('list', { isDefault: true })
      .description('list the kinds of the service, and those that fail to load; the default'),
  )
    .option('--json', 'print the kinds, with their schemas, as JSON')
    .action(action(listKinds));
  withConnection(
    kinds
      .command('show')
      .description('print the schemas of a kind and its commands as JSON')
      .argument('<kind>'),
  ).action(action(showKind));
  withConnection(
    kinds
      .command('release')
      .description('end the quarantine of a kind; its bots that failed because of it start again')
      .argument('<kind>'),
  )
    .option('--json', 'print the number of bots that start as JSON')
    .action(action(releaseKind));
  addKindTest(kinds);
  addKindNew(kinds);
  addHelp(kinds);
}

async function listKinds(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const loaded = await kindsOf(options);
  if (options.json) {
    await printJson(loaded);
    return;
  }
  const rows = loaded.kinds.map(({ kind, description, commands }) => [
    kind,
    Object.keys(commands).join(','),
    description,
  ]);
  await print(table(HEAD, rows));
  for (const { kind, quarantine, changed } of loaded.kinds) {
    if (changed) complainOfChange(kind);
    if (quarantine === null) continue;
    const since = timeText(quarantine.since_ms);
    complain(
      `${kind} is quarantined since ${since}: ${quarantine.reason}; drover kinds release ${kind} ends that`,
    );
  }
  for (const { module, error, helper } of loaded.failed) {
    if (!helper) complain(`${module} does not load: ${error}`);
  }
}

async function showKind(name: string, options: ConnectionOptions): Promise<undefined> {
  const { kinds } = await kindsOf(options);
  const found = kinds.find(({ kind }) => kind === name);
  if (found) {
    await printJson(found);
    return;
  }
  const known = kinds.map(({ kind }) => kind).join(', ');
  throw new CliError(EXIT.not_found, `no kind ${JSON.stringify(name)}; there are: ${known}`);
}

async function releaseKind(
  kind: string,
  options: ConnectionOptions & { json?: true },
): Promise<undefined> {
  const { client, call } = connect(options);
  const { started, missing } = await client.releaseKind(kind, call());
  if (options.json) await printJson({ started, missing });
  else
    await printLine(`${kind} released; ${started} ${started === 1 ? 'bot starts' : 'bots start'}`);
  if (missing.length > 0)
    complain(`no answer from node ${missing.join(', ')}; release the kind there too`);
}

function kindsOf(options: ConnectionOptions): Promise<KindList> {
  const { client, call } = connect(options);
  return client.kinds(call());
}
