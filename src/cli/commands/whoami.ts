// `drover whoami`: the token that commands use, and what it may do.

import type { Command } from 'commander';
import type { TokenInfo } from '../../client/index.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { action } from '../terminal/action.js';
import { printJson, printLine, timeText } from '../terminal/output.js';
import { clientText, creatorText, limitText } from './token-text.js';

export function addWhoami(program: Command): void {
  withConnection(
    program.command('whoami').description('show the token that commands use, and what it may do'),
  )
    .option('--json', 'print JSON')
    .action(action(whoami));
}

async function whoami(options: ConnectionOptions & { json?: true }): Promise<undefined> {
  const { client, call } = connect(options);
  const token = await client.tokens.current(call());
  if (options.json) {
    await printJson({ url: client.url, ...token });
    return;
  }
  for (const [what, text] of linesOf(client.url, token)) {
    await printLine(`${`${what}:`.padEnd(12)}${text}`);
  }
}

function linesOf(url: string, token: TokenInfo): [string, string][] {
  const { name, id, scopes, created_at_ms, expires_at_ms, extended_by_use } = token;
  const expiry = expires_at_ms === null ? 'never' : timeText(expires_at_ms);
  const last = token.last_used_at_ms === null ? 'never' : timeText(token.last_used_at_ms);
  return [
    ['service', url],
    ['token', `${name} (${id})`],
    ['scopes', scopes.join(', ')],
    ['bots', limitText(token) || 'all'],
    ['expires', extended_by_use ? `${expiry} if it is not used until then` : expiry],
    ['created', `${timeText(created_at_ms)} by ${creatorText(token)}`],
    ['last used', `${last} from ${clientText(token)}`],
  ];
}
