// `drover kinds`: the kinds that a service has.

import type { Command } from 'commander';
import type { KindList, ReloadedKind } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { complainOfChange } from './changed-kinds.js';
import { addGroup, addHelp } from './help.js';
import { addKindNew } from './kind-new.js';
import { addKindTest } from './kind-test.js';

const HEAD = ['KIND', 'VERSION', 'BOTS', 'COMMANDS', 'DESCRIPTION'];

export function addKinds(program: Command): void {
  const kinds = addGroup(
    program,
    'kinds',
    'list, show, test and create kinds of bots, reload them, and release them from quarantine',
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
      .command('reload')
      .description('read a kind again, or all and new ones; bots start with it from then on')
      .argument('[kind]'),
  )
    .option('--json', 'print what has changed as JSON')
    .action(action(reloadKinds));
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
  // A line for each version, the current one first.
  const rows = loaded.kinds.flatMap(({ kind, description, commands, versions }) =>
    versions.map(({ version, is_current, bots }) => [
      ...[is_current ? kind : '', version, String(bots)],
      ...(is_current ? [Object.keys(commands).join(','), description] : ['', '']),
    ]),
  );
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

async function reloadKinds(
  kind: string | undefined,
  options: ConnectionOptions & { json?: true },
): Promise<number> {
  const { client, call } = connect(options);
  const reloaded = await client.reloadKinds(kind, call());
  const { kinds, failed, nodes = {} } = reloaded;
  if (options.json) await printJson(reloaded);
  else {
    for (const line of kinds.flatMap(reloadLines)) await printLine(line);
    if (kinds.length === 0) await printLine('there are no kinds but those that ship with Drover');
  }
  for (const { module, error, helper } of failed) {
    if (!helper) complain(`${module} does not load: ${error}`);
  }
  const errors = Object.entries(nodes).flatMap(([node, { error }]) =>
    error ? [{ node, error }] : [],
  );
  for (const { node, error } of errors) complain(`on node ${node}: ${error}`);
  return errors.length === 0 ? EXIT.ok : EXIT.failed;
}

function reloadLines({ kind, version, before, released, bots, ...parts }: ReloadedKind): string[] {
  if (version === before) return [`${kind} is unchanged (version ${version})`];
  const now =
    before === null ? `${kind} is new, version ${version}` : `${kind}: ${before} -> ${version}`;
  const changes = (['files', 'config', 'commands'] as const).flatMap((part) => {
    const { added, removed, changed } = parts[part];
    const signs = [...added.map((one) => `+${one}`), ...removed.map((one) => `-${one}`)];
    const all = [...signs, ...changed.map((one) => `~${one}`)];
    return all.length === 0 || before === null ? [] : [`  ${part}: ${all.join(' ')}`];
  });
  const older = bots === 0 ? [] : [`  bots with another version: ${bots}`];
  const started = released === 0 ? [] : [`  bots that start again: ${released}`];
  return [now, ...changes, ...older, ...started];
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
