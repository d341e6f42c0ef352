// Runs in the command line. Owns `drover tokens`.

import { type Command, Option } from 'commander';
import type { CreateTokenBody, Scope, TokenInfo } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { labels, list, timeSpan } from '../flags/flag-values.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, table } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';

/** The name of the token that the command uses; ids are UUIDs. */
const CURRENT = 'current';
const HEAD = ['ID', 'NAME', 'SCOPES', 'LIMITED TO', 'CREATED', 'EXPIRES', 'LAST USED'];

interface CreateOptions extends ConnectionOptions {
  scope: string[];
  bot?: string[];
  label?: Record<string, string>;
  expires?: number;
  json?: true;
}

interface RevokeOptions extends ConnectionOptions {
  current?: true;
  json?: true;
}

export function addTokens(program: Command): void {
  const tokens = addGroup(program, 'tokens', 'list, create and revoke tokens');
  withConnection(tokens.command('list').description('the tokens there are'))
    .option('--json', 'as a JSON list')
    .action(action(listTokens));
  withConnection(
    tokens.command('create').description('make a token; it is printed here and never again'),
  )
    .argument('<name>', 'what it is for')
    .addOption(
      new Option(
        '--scope <scope>',
        'read, control, invoke, admin; several comma-separated or repeated',
      )
        .argParser(list)
        .makeOptionMandatory(),
    )
    .option('--bot <id>', 'limit it to this bot; several comma-separated or repeated', list)
    .option('--label <name=value>', 'limit it to bots with these labels', labels)
    .option(
      '--expires <time>',
      'how long it is good, for example 30d; for ever when left out',
      timeSpan,
    )
    .option('--json', 'the token with all that is known of it, as JSON')
    .action(action(createToken));
  withConnection(tokens.command('revoke').description('revoke tokens').argument('[id...]'))
    .option('--current', 'the token that this command uses')
    .option('--json', 'of each id that it is revoked or its error, as JSON')
    .action(action(revokeTokens));
  addHelp(tokens);
}

async function listTokens(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const { client, call } = connect(options);
  const all = await client.tokens.list(call());
  if (options.json) await printJson(all);
  else await print(table(HEAD, all.map(row)));
}

function row(token: TokenInfo): string[] {
  const { id, name, scopes, created_at_ms, expires_at_ms, last_used_at_ms } = token;
  const limit =
    token.bots?.join(',') ??
    Object.entries(token.labels ?? {})
      .map((pair) => pair.join('='))
      .join(',');
  return [
    id,
    name,
    scopes.join(','),
    limit,
    time(created_at_ms),
    time(expires_at_ms),
    time(last_used_at_ms),
  ];
}

function time(ms: number | null): string {
  return ms === null ? '-' : new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

async function createToken(name: string, options: CreateOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { scope, bot, label, expires } = options;
  const body: CreateTokenBody = { name, scopes: scope as Scope[] };
  if (bot) body.bots = bot;
  if (label) body.labels = label;
  if (expires !== undefined) body.expires_at_ms = Date.now() + expires;
  const made = await client.tokens.create(body, call());
  // Alone on its line, for TOKEN=$(drover tokens create …).
  if (options.json) await printJson(made);
  else await print(`${made.token}\n`);
}

async function revokeTokens(ids: string[], options: RevokeOptions): Promise<number> {
  if (ids.length === 0 && !options.current) {
    throw new CliError(EXIT.usage, 'no token was named; drover tokens list shows their ids');
  }
  const { client, call } = connect(options);
  const targets = ids.map((id) => ({ id, revoke: () => client.tokens.revoke(id, call()) }));
  // Last: the others are revoked with it.
  if (options.current) {
    targets.push({ id: CURRENT, revoke: () => client.tokens.revokeCurrent(call()) });
  }
  const all: Record<string, { status: 'revoked' } | { error: string }> = {};
  let exitCode: number = EXIT.ok;
  for (const { id, revoke } of targets) {
    try {
      await revoke();
      all[id] = { status: 'revoked' };
      if (!options.json) await print(`${id} revoked\n`);
    } catch (thrown) {
      if (targets.length === 1) throw thrown;
      // The others are revoked all the same.
      const { message } = thrown as Error;
      all[id] = { error: message };
      complain(`${id}: ${message}`);
      exitCode = EXIT.failed;
    }
  }
  if (options.json) await printJson(all);
  return exitCode;
}
