// The flags that select bots by what they are: --status, --kind, --label, --node and --query. A bot must match all of them.

import type { Command } from 'commander';
import { filterQuery } from '../../client/event-filter.js';
import type { BotFilter, BotSnapshot, EventFilter } from '../../client/index.js';
import type { QueryUse } from '../../shared/query/fields.js';
import { printQuery } from '../../shared/query/print-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import type { Query } from '../../shared/query/term.js';
import type { Connection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { botQuery, list } from './flag-values.js';

type Selector = keyof BotFilter;

const SELECTORS: Readonly<Record<Selector, [flag: string, what: string]>> = {
  status: ['--status <status>', 'only bots with the status'],
  kind: ['--kind <kind>', 'only bots of the kind'],
  label: ['--label <name=value>', 'only bots with all of these labels; a name alone is any value'],
  node: ['--node <node>', 'only bots on this node of the cluster'],
  query: [
    '--query <query>',
    "only bots that match the query, such as 'status:failed -kind:demo' (docs/QUERY.md)",
  ],
};
const ALL: readonly Selector[] = ['status', 'kind', 'label', 'node', 'query'];

/** @param selectors those that mean something else in this command are left out. */
export function withBotSelectors(command: Command, selectors: readonly Selector[] = ALL): Command {
  for (const name of selectors) {
    const [flag, what] = SELECTORS[name];
    if (name === 'query') command.option(flag, what, botQuery);
    else command.option(flag, `${what} (comma-separated or repeated)`, list);
  }
  return command;
}

/** Whether any selector is given. */
export function isSelecting(selectors: BotFilter): boolean {
  return ALL.some((name) => selectors[name] !== undefined);
}

/** What the flags select, as a query. */
export function queryOf(filter: EventFilter, use: QueryUse): Query {
  const given = Object.entries(filterQuery(filter)).flatMap(([name, values]) =>
    values === undefined ? [] : [[name, String(values)] as const],
  );
  return selectionOf(given, use);
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

export function noBots(selectors: BotFilter): CliError {
  return new CliError(
    EXIT.not_found,
    `no bot matches ${printQuery(queryOf(selectors, 'bots'))}; list all bots with drover bots list`,
  );
}
