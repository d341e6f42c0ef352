import { type Command, Option } from 'commander';
import {
  type CreateTokenBody,
  type NewToken,
  type Scope,
  signInUrl,
  type TokenInfo,
} from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { labels, list, timeSpan } from '../flags/flag-values.js';
import { action, complain } from '../terminal/action.js';
import { print, printJson, printLine, table, timeText } from '../terminal/output.js';
import { addGroup, addHelp } from './help.js';
import { createLocalToken } from './local-token.js';
import { clientText, limitText } from './token-text.js';

/** Names the command's own token in the output; ids are UUIDs. */
const CURRENT = 'current';
const HEAD = ['ID', 'NAME', 'SCOPES', 'LIMITED TO', 'CREATED', 'EXPIRES', 'LAST USED', 'FROM'];

interface SpecOptions extends ConnectionOptions {
  scope: string[];
  bot?: string[];
  label?: Record<string, string>;
  expires?: number;
  json?: true;
}

interface CreateOptions extends SpecOptions {
  dataDir?: string;
  timeout: number;
}

interface RevokeOptions extends ConnectionOptions {
  current?: true;
  json?: true;
}

export function addTokens(program: Command): void {
  const tokens = addGroup(
    program,
    'tokens',
    'list, create and revoke tokens, create sign-in links',
  );
  withConnection(tokens.command('list').description('list tokens'))
    .option('--json', 'print a JSON list')
    .action(action(listTokens));
  withSpec(
    tokens.command('create').description('create a token and print it; it cannot be shown again'),
  )
    .addOption(
      new Option(
        '--data-dir <path>',
        "create it on the service's machine, without PIN and token, as the service's user or as root",
      ).conflicts(['url', 'token', 'profile']),
    )
    .option('--json', 'print the token and its properties as JSON')
    .action(action(createToken));
  withSpec(
    tokens
      .command('link')
      .description('create a link that signs one person in to the dashboard once, and print it'),
  )
    .option('--json', 'print the link and its expiry as JSON')
    .action(action(createLink));
  withConnection(tokens.command('revoke').description('revoke tokens').argument('[id...]'))
    .option('--current', 'revoke the token that this command uses')
    .option('--json', 'print the result or error for each id as JSON')
    .action(action(revokeTokens));
  addHelp(tokens);
}

/** Options that say what a token may do. */
function withSpec(command: Command): Command {
  return withConnection(command)
    .argument('<name>', 'name that says who or what the token is for')
    .addOption(
      new Option('--scope <scope>', 'read, control, invoke or admin (comma-separated or repeated)')
        .argParser(list)
        .makeOptionMandatory(),
    )
    .option('--bot <id>', 'restrict the token to this bot (comma-separated or repeated)', list)
    .option('--label <name=value>', 'restrict the token to bots with these labels', labels)
    .option('--expires <time>', 'lifetime, for example 30d (default: no expiry)', timeSpan);
}

async function listTokens(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const { client, call } = connect(options);
  const all = await client.tokens.list(call());
  if (options.json) await printJson(all);
  else await print(table(HEAD, all.map(row)));
}

function row(token: TokenInfo): string[] {
  const { id, name, scopes, created_at_ms, expires_at_ms, last_used_at_ms } = token;
  return [
    id,
    name,
    scopes.join(','),
    limitText(token),
    timeText(created_at_ms),
    timeText(expires_at_ms),
    timeText(last_used_at_ms),
    clientText(token),
  ];
}

function bodyOf(name: string, { scope, bot, label, expires }: SpecOptions): CreateTokenBody {
  const body: CreateTokenBody = { name, scopes: scope as Scope[] };
  if (bot) body.bots = bot;
  if (label) body.labels = label;
  if (expires !== undefined) body.expires_at_ms = Date.now() + expires;
  return body;
}

async function createToken(name: string, options: CreateOptions): Promise<undefined> {
  const { dataDir, timeout } = options;
  const body = bodyOf(name, options);
  const created =
    dataDir === undefined
      ? await createByRequest(body, options)
      : await createLocalToken(dataDir, body, timeout);
  // Only the token, for TOKEN=$(drover tokens create …).
  if (options.json) await printJson(created);
  else await printLine(created.token);
}

async function createLink(name: string, options: SpecOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const link = await client.tokens.createLink(bodyOf(name, options), call());
  const url = signInUrl(client.url, link);
  if (options.json) await printJson({ url, expires_at_ms: link.expires_at_ms });
  else {
    await printLine(url);
    complain(`the link works once, until ${timeText(link.expires_at_ms)}`);
  }
}

function createByRequest(body: CreateTokenBody, options: CreateOptions): Promise<NewToken> {
  const { client, call } = connect(options);
  return client.tokens.create(body, call());
}

async function revokeTokens(ids: string[], options: RevokeOptions): Promise<number> {
  if (ids.length === 0 && !options.current) {
    throw new CliError(
      EXIT.usage,
      'no tokens selected; give ids (see drover tokens list) or --current',
    );
  }
  const { client, call } = connect(options);
  const targets = ids.map((id) => ({ id, revoke: () => client.tokens.revoke(id, call()) }));
  // Last, because the other requests use this token.
  if (options.current) {
    targets.push({ id: CURRENT, revoke: () => client.tokens.revokeCurrent(call()) });
  }
  const all: Record<string, { status: 'revoked' } | { error: string }> = {};
  let exitCode: number = EXIT.ok;
  for (const { id, revoke } of targets) {
    try {
      await revoke();
      all[id] = { status: 'revoked' };
      if (!options.json) await printLine(`${id} revoked`);
    } catch (thrown) {
      if (targets.length === 1) throw thrown;
      // Report it and continue with the others.
      const { message } = thrown as Error;
      all[id] = { error: message };
      complain(`${id}: ${message}`);
      exitCode = EXIT.failed;
    }
  }
  if (options.json) await printJson(all);
  return exitCode;
}
