// The columns of logs: what there is, what is shown, and how wide.

import { type ColumnTable, gridOf } from '../columns/column.js';
import type { OfferedColumns } from '../columns/columns-menu.js';
import { type ChosenColumns, useColumns } from '../columns/use-columns.js';
import { cluster } from '../model/cluster.js';
import { type PlainKey, t } from '../texts/text.js';

type Own = readonly [title: PlainKey, least: number, grow: number];
const COLUMNS: Readonly<Record<string, Own>> = {
  time: ['term.time', 102, 0],
  level: ['log.level', 46, 0],
  scope: ['log.scope', 84, 0],
  bot: ['term.bot', 70, 0],
  kind: ['term.kind', 84, 0],
  node: ['term.node', 72, 0],
  dir: ['log.direction', 20, 0],
  message: ['log.message', 200, 1],
  event: ['log.event', 130, 0],
};
/** Columns that are the same in each line of one bot. */
export const OF_ITS_BOT: readonly string[] = ['bot', 'kind'];
const USUAL = ['time', 'level', 'scope', 'bot', 'node', 'dir', 'message'];
/** Without a choice a row of two lines has no room for the node. */
const USUAL_NARROW = USUAL.filter((name) => name !== 'node');
/** A time with its day. */
const DATED_PX = 150;
/** The usual size of text in a log, in px. */
const TEXT_PX = 12.5;
/** Between two cells, and at both ends of a row, in px: style/lists.css. */
const GAP_PX = 8;
const ENDS_PX = 24;

export const LOG_TABLE: ColumnTable = {
  name: 'log',
  fixed: 'message',
  columnOf: (name) => {
    const own = Object.hasOwn(COLUMNS, name) ? COLUMNS[name] : undefined;
    // A single service has no nodes to show.
    if (!own || (name === 'node' && cluster.value === null)) return undefined;
    const [title, least, grow] = own;
    return { name, title: t(title), least, grow, ...(name === 'dir' ? { sign: '↔' } : {}) };
  },
};

export function useLogColumns(isNarrow: boolean): ChosenColumns {
  return useColumns(LOG_TABLE, isNarrow ? USUAL_NARROW : USUAL);
}

export function offeredColumns(): OfferedColumns[] {
  return [{ title: t('term.lines'), names: Object.keys(COLUMNS) }];
}

interface Shape {
  isNarrow: boolean;
  /** Some lines are of another day, which is before their time. */
  isDated: boolean;
  /** Characters of the longest value, by column. */
  chars: Readonly<Record<string, number>>;
}

/** Custom properties for a log with these columns. */
export function logStyle(
  columns: ChosenColumns['columns'],
  widths: ChosenColumns['widths'],
  { isNarrow, isDated, chars }: Shape,
): Record<string, string> {
  if (isNarrow) return { '--columns': narrowTracks(columns.map(({ name }) => name)) };
  const { tracks, least } = gridOf(
    columns.map((one) => (one.name === 'time' && isDated ? { ...one, least: DATED_PX } : one)),
    {
      widths,
      chars,
      padPx: 1,
      mostPercent: 40,
      textPx: TEXT_PX,
      besidePx: ENDS_PX + GAP_PX * (columns.length - 1),
    },
  );
  return { '--columns': tracks, '--columns-width': least };
}

/** Of the first line of a row; the message has the second one. */
function narrowTracks(names: readonly string[]): string {
  const first = names.filter((name) => name !== 'message');
  const last = first.findLast((name) => name !== 'dir');
  const tracks = first.map((name) =>
    name === 'dir'
      ? '20px'
      : name === last
        ? 'minmax(0, 1fr)'
        : name === 'time' || name === 'level'
          ? 'auto'
          : 'minmax(0, auto)',
  );
  // The message spans all of them.
  return (last === undefined ? [...tracks, 'minmax(0, 1fr)'] : tracks).join(' ');
}
