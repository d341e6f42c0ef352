// The flags that select bots by what they are: --status, --kind, --label, --node and --query. A bot must match all of them.

import type { Command } from 'commander';
import type { BotFilter, BotSnapshot } from '../../client/index.js';
import { printQuery } from '../../shared/query/print-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import type { Connection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { botQuery, list } from './flag-values.js';
import { parameterText } from './parameter-text.js';

const SELECTORS = {
  kind: '--kind <kind>',
  status: '--status <status>',
  label: '--label <name=value>',
  node: '--node <node>',
  query: '--query <query>',
} satisfies Partial<Record<keyof BotFilter, string>>;
type Selector = keyof typeof SELECTORS;
const ALL = Object.keys(SELECTORS) as Selector[];

/**
 * @param selectors those that mean something else in this command are left out. @param route whose parameters they are.
 */
export function withBotSelectors(
  command: Command,
  selectors: readonly Selector[] = ALL,
  route: 'GET /api/bots' | 'GET /events' = 'GET /api/bots',
): Command {
  for (const name of selectors) {
    const text = parameterText(route, name);
    if (name === 'query') command.option(SELECTORS[name], text, botQuery);
    else command.option(SELECTORS[name], text, list);
  }
  return command;
}

/** Whether any selector is given. */
export function isSelecting(selectors: BotFilter): boolean {
  return ALL.some((name) => selectors[name] !== undefined);
}

/** The bots that match now. */
export function selectBots(
  { client, call }: Connection,
  { status, kind, label, node, query }: BotFilter,
): Promise<BotSnapshot[]> {
  return client.bots.list({ ...call(), status, kind, label, node, query });
}

/**
 * The ids that are given, and those of the bots that match the selectors, each once.
 * @throws CliError when there are none.
 */
export async function selectedIds(
  connection: Connection,
  given: readonly string[],
  selectors: BotFilter,
): Promise<string[]> {
  if (!isSelecting(selectors)) {
    if (given.length > 0) return [...new Set(given)];
    throw new CliError(
      EXIT.usage,
      'no bots selected; give ids or --label, --kind, --status, --node or --query',
    );
  }
  const found = (await selectBots(connection, selectors)).map(({ id }) => id);
  if (found.length === 0) throw noBots(selectors);
  return [...new Set([...given, ...found])];
}

/** The selectors as one query. */
export function selectorQuery(selectors: BotFilter): string {
  const given = ALL.map((name) => [name, selectors[name]] as const);
  return printQuery(selectionOf(given, 'bots'));
}

export function noBots(selectors: BotFilter): CliError {
  return new CliError(
    EXIT.not_found,
    `no bot matches ${selectorQuery(selectors)}; list all bots with drover bots list`,
  );
}
