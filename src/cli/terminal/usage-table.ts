// The table of `drover top`: pure.

import type { BotSnapshot, BotUsage } from '../../client/index.js';
import { type Printed, safeText } from '../../shared/terminal.js';

/** The columns by which the table can be sorted, with their keys. */
export const SORTS = {
  cpu: 'c',
  memory: 'm',
  lines: 'l',
  bytes: 'b',
  connections: 'o',
  name: 'n',
} as const;
export type Sort = keyof typeof SORTS;

/** The column of each: its figure and its width. Names are on the left. */
const FIGURES: Readonly<Record<Exclude<Sort, 'name'>, keyof BotUsage>> = {
  cpu: 'cpu',
  memory: 'memory_mb',
  lines: 'lines_per_second',
  bytes: 'bytes_per_second',
  connections: 'connections',
};
const HEAD = ['CPU', 'MEMORY', 'LINES/S', 'BYTES/S', 'CONN', 'BOT', 'KIND', 'STATUS', 'HOST', ''];
/** Index of the column NODE, which only a cluster has. */
const NODE_COLUMN = 8;
/** Columns of numbers, which are aligned on the right. */
const NUMBERS = 5;
/** A bot with more of a core than this is marked. */
const BUSY = 0.5;
const [BOLD, RED, YELLOW, DIM] = [1, 31, 33, 2];

const natural = new Intl.Collator('en', { numeric: true });

/** The heaviest users first, equal ones by name. Unknown usage and none come last. */
export function sorted(bots: readonly BotSnapshot[], by: Sort): BotSnapshot[] {
  const figure = ({ usage }: BotSnapshot): number =>
    by === 'name' ? 0 : (usage?.[FIGURES[by]] ?? -1);
  return [...bots].sort(
    (one, other) => figure(other) - figure(one) || natural.compare(one.id, other.id),
  );
}

/** A line for the head and one for each bot, without line breaks. @param width of the terminal; lines are cut there. */
export function usageLines(
  bots: readonly BotSnapshot[],
  isColored: boolean,
  width = Number.POSITIVE_INFINITY,
): Printed[] {
  const withNode = bots.some(({ node }) => node !== undefined);
  const shownHead = withNode ? HEAD.toSpliced(NODE_COLUMN, 0, 'NODE') : HEAD;
  const rows = [
    shownHead,
    ...bots.map((bot) => {
      const own = cells(bot);
      return withNode ? own.toSpliced(NODE_COLUMN, 0, safeText(bot.node ?? '-')) : own;
    }),
  ];
  const widths = shownHead.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  return rows.map((row, number) => {
    const text = row
      .map((cell, at) =>
        at < NUMBERS ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0),
      )
      .join('  ')
      .trimEnd()
      .slice(0, width);
    const color = number === 0 ? BOLD : colorOf(bots[number - 1]);
    return isColored && color !== undefined ? { color, text } : text;
  });
}

function colorOf(bot: BotSnapshot | undefined): number | undefined {
  if (!bot?.usage) return DIM;
  if (bot.over_quota.length > 0) return RED;
  return bot.usage.cpu > BUSY ? YELLOW : undefined;
}

function cells({ id, kind, status, host, usage, over_quota: over = [] }: BotSnapshot): string[] {
  const figures = usage
    ? [
        `${(usage.cpu * 100).toFixed(1)}%`,
        usage.memory_mb === null ? '-' : `${Math.round(usage.memory_mb)}M`,
        usage.lines_per_second.toFixed(1),
        short(usage.bytes_per_second),
        String(usage.connections),
      ]
    : ['-', '-', '-', '-', '-'];
  const notes = over.length === 0 ? '' : `over its quota of ${over.join(', ')}`;
  return [...figures, ...[id, kind, status, host === null ? '-' : `${host}`, notes].map(safeText)];
}

/** `950`, `12.3K`, `4.0M`. */
function short(bytes: number): string {
  if (bytes < 1000) return String(bytes);
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)}K` : `${(bytes / 1e6).toFixed(1)}M`;
}
