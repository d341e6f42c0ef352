// `drover top`: which bots use most, live on a terminal, once elsewhere.

import { type Command, Option } from 'commander';
import { ApiError, type BotFilter, type BotSnapshot } from '../../client/index.js';
import {
  type Connection,
  type ConnectionOptions,
  connect,
  withConnection,
} from '../connection/connection.js';
import { selectBots, withBotSelectors } from '../flags/bot-selectors.js';
import { count } from '../flags/flag-values.js';
import { action } from '../terminal/action.js';
import { isColored, print, printJson } from '../terminal/output.js';
import { Screen } from '../terminal/screen.js';
import { SORTS, type Sort, sorted, usageLines } from '../terminal/usage-table.js';

/** How often the table is read again, in ms. */
const EVERY_MS = 2000;
/** Rows of the screen that are not bots: two of the summary, the head of the table. */
const OTHER_ROWS = 3;

interface TopOptions extends ConnectionOptions, BotFilter {
  sort: Sort;
  limit?: number;
  once?: true;
  json?: true;
  color: boolean;
}

export function addTop(program: Command): void {
  withBotSelectors(withConnection(program.command('top')))
    .description('show which bots use the most; live on a terminal, until q')
    .addOption(
      new Option('--sort <column>', 'column to sort by')
        .choices(Object.keys(SORTS))
        .default('cpu' satisfies Sort),
    )
    .option('-n, --limit <number>', 'maximum number of bots', count)
    .option('--once', 'print the table once (default when the output is not a terminal)')
    .option(
      '--json',
      'print a JSON list once: id, kind, status, host, usage, over_quota, and in a cluster node',
    )
    .option('--no-color', 'disable colours (default when the output is not a terminal)')
    .action(action(top));
}

async function top(options: TopOptions): Promise<undefined> {
  const connection = connect(options);
  const colored = isColored(options.color);
  // Also before the live table: an error about the address or the token must stay on the screen.
  const bots = await selectBots(connection, options);
  const isLive = process.stdout.isTTY === true && process.env['TERM'] !== 'dumb';
  if (options.json) {
    const shown = sorted(bots, options.sort).slice(0, options.limit);
    await printJson(
      shown.map(({ id, kind, status, node, host, usage, over_quota }) => {
        return { id, kind, status, node, host, usage, over_quota };
      }),
    );
  } else if (options.once || !isLive) {
    const shown = sorted(bots, options.sort).slice(0, options.limit);
    for (const line of usageLines(shown, colored)) await print(line, '\n');
  } else await follow(connection, options, bots, colored);
}

async function follow(
  connection: Connection,
  options: TopOptions,
  first: BotSnapshot[],
  colored: boolean,
): Promise<void> {
  let { sort } = options;
  let bots = first;
  let fault: string | null = null;
  let readAt = performance.now();
  const screen = new Screen((key) => {
    const asked = Object.entries(SORTS).find(([, own]) => own === key);
    if (asked) sort = asked[0] as Sort;
  });
  try {
    for (;;) {
      const { rows, columns } = screen.size;
      const limit = Math.min(options.limit ?? rows, Math.max(1, rows - OTHER_ROWS));
      const shown = sorted(bots, sort).slice(0, limit);
      const lines = usageLines(shown, colored, columns);
      screen.draw([
        summary(bots, sort).slice(0, columns),
        (fault ?? '').slice(0, columns),
        ...lines,
      ]);
      await screen.next(readAt + EVERY_MS - performance.now());
      if (screen.isOver) return;
      if (performance.now() < readAt + EVERY_MS) continue;
      readAt = performance.now();
      try {
        bots = await selectBots(connection, options);
        fault = null;
      } catch (thrown) {
        if (screen.isOver) return;
        // The service may be restarting. A refused token stays refused.
        if (thrown instanceof ApiError && [401, 403].includes(thrown.status)) throw thrown;
        fault = `no answer, the table is out of date: ${(thrown as Error).message}`;
      }
    }
  } finally {
    screen.close();
  }
}

function summary(bots: readonly BotSnapshot[], sort: Sort): string {
  const cores = bots.reduce((sum, { usage }) => sum + (usage?.cpu ?? 0), 0);
  const keys = Object.entries(SORTS).map(([name, key]) => `${key} ${name}`);
  return `bots: ${bots.length}, cores: ${cores.toFixed(2)}, by ${sort}   q quit  ${keys.join('  ')}`;
}
