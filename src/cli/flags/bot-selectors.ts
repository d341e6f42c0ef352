// The flags that select bots by what they are: --status, --kind, --label, --node and --query. A bot must match all of them.

import type { Command } from 'commander';
import type { BotSnapshot } from '../../client/index.js';
import type { Connection } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { botQuery, labels, list } from './flag-values.js';

export interface BotSelectors {
  status?: string[] | undefined;
  kind?: string[] | undefined;
  label?: Record<string, string> | undefined;
  /** Nodes of a cluster. */
  node?: string[] | undefined;
  /** docs/QUERY.md. The service selects by it. */
  query?: string | undefined;
}

type Selector = keyof BotSelectors;

const FLAGS: Readonly<Record<Selector, string>> = {
  status: '--status <status>',
  kind: '--kind <kind>',
  label: '--label <name=value>',
  node: '--node <node>',
  query: '--query <query>',
};
const WHAT: Readonly<Record<Selector, string>> = {
  status: 'only bots with the status',
  kind: 'only bots of the kind',
  label: 'only bots with all of these labels',
  node: 'only bots on this node of the cluster',
  query: "only bots that match the query, such as 'status:failed -kind:demo' (docs/QUERY.md)",
};

/** @param selectors those that mean something else in this command are left out. */
export function withBotSelectors(
  command: Command,
  selectors: readonly Selector[] = ['status', 'kind', 'label', 'node', 'query'],
): Command {
  for (const name of selectors) {
    if (name === 'query') {
      command.option(FLAGS[name], WHAT[name], botQuery);
      continue;
    }
    const description = `${WHAT[name]} (comma-separated or repeated)`;
    if (name === 'label') command.option(FLAGS[name], description, labels);
    else command.option(FLAGS[name], description, list);
  }
  return command;
}

/** Whether any selector is given. */
export function isSelecting(selectors: BotSelectors): boolean {
  const { status, kind, label, node, query } = selectors;
  return [status, kind, label, node, query].some((given) => given !== undefined);
}

/** Whether a bot matches all selectors but the query; without any, each bot does. */
export function isSelected(
  bot: Pick<BotSnapshot, 'status' | 'kind' | 'labels' | 'node'>,
  { status, kind, label = {}, node }: BotSelectors,
): boolean {
  return (
    (status?.includes(bot.status) ?? true) &&
    (kind?.includes(bot.kind) ?? true) &&
    (node?.includes(bot.node ?? '') ?? true) &&
    Object.entries(label).every(([name, value]) => bot.labels[name] === value)
  );
}

/** The bots that match now. */
export async function selectBots(
  { client, call }: Connection,
  selectors: BotSelectors,
): Promise<BotSnapshot[]> {
  const { status, kind, query } = selectors;
  const all = await client.bots.list({
    ...call(),
    ...(status?.length && { status }),
    ...(kind?.length && { kind }),
    query,
  });
  return all.filter((bot) => isSelected(bot, selectors));
}

/**
 * The ids that are given, and those of the bots that match the selectors, each once.
 * @throws CliError when there are none.
 */
export async function selectedIds(
  connection: Connection,
  given: readonly string[],
  selectors: BotSelectors,
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

export function noBots(selectors: BotSelectors): CliError {
  return new CliError(
    EXIT.not_found,
    `no bot has ${wordsOf(selectors)}; list all bots with drover bots list`,
  );
}

/** Selectors, also those that a file holds, in words: `status failed, the kind demo and these labels team=a`. */
export function wordsOf({ status, kind, label, node, query }: BotSelectors): string {
  const pairs = label && Object.entries(label).map((pair) => pair.join('='));
  const parts: [what: string, values: readonly string[] | undefined][] = [
    ['the status', status],
    ['the kind', kind],
    ['these labels', pairs],
    ['the node', node],
    ['what is asked for:', query === undefined ? undefined : [query]],
  ];
  return parts
    .flatMap(([what, values]) =>
      values === undefined ? [] : `${what} ${[values].flat().join(',')}`,
    )
    .join(' and ');
}
