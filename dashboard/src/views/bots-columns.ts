// The columns of the bot table: what there is, what is shown, and how wide.

import { useMemo } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { type BotField, botField } from '../../../src/shared/query/bot-field.js';
import {
  type Column,
  type ColumnTable,
  columnsOf,
  gridOf,
  usualLength,
} from '../columns/column.js';
import type { OfferedColumns } from '../columns/columns-menu.js';
import { type ChosenColumns, useColumns } from '../columns/use-columns.js';
import { flatten } from '../data/flatten.js';
import { pinsOf } from '../data/pins.js';
import { cluster } from '../model/cluster.js';
import { bots } from '../model/live.js';
import { silenceRank } from '../model/silence.js';
import { useWidth } from '../model/width.js';
import { type PlainKey, t } from '../texts/text.js';

/** Named `id` and others, `data.<path>` or `label.<name>`. */
export interface BotColumn extends Column {
  /** Undefined for a column that cannot be sorted. */
  field: BotField | undefined;
}

type Own = readonly [
  title: PlainKey,
  field: string | BotField | undefined,
  least: number,
  grow: number,
];
/** The silence of a bot, which the page knows, not the snapshot. */
const SILENT: BotField = { name: 'silent', of: (bot) => silenceRank(bot) };
const OWN: Readonly<Record<string, Own>> = {
  id: ['term.bot', 'bot', 120, 1.2],
  kind: ['term.kind', 'kind', 84, 0.6],
  status: ['term.status', 'status', 120, 0.9],
  since: ['term.duration', 'since', 92, 0],
  restarts: ['term.restarts', 'restarts', 100, 0],
  node: ['term.node', 'node', 72, 0.5],
  host: ['term.host', 'host', 72, 0],
  desired: ['bots.desired', 'desired', 92, 0],
  last_error: ['term.lastError', 'last_error', 140, 2],
  silent: ['bots.silent', SILENT, 102, 0],
  line: ['term.lastLine', undefined, 140, 3],
  labels: ['term.labels', undefined, 184, 2],
};
const OF_FIELD = { least: 90, grow: 0.6 };
/** Default columns that are left out where there is no room for all, in this order. */
const LEFT_OUT: readonly string[] = ['labels', 'restarts', 'kind', 'node'];
/** The navigation beside the table, in px: its widths, and up to which width of the window it has only icons: style/frame.css. */
const NAVIGATION = { whole: 200, icons: 56, iconsUpTo: 1000 } as const;
/** The usual size of text, in px. */
const TEXT_PX = 14;
/** The column of check boxes. */
const CHECK_PX = 40;
/** All that a row of two lines has room for. */
const NARROW: readonly string[] = ['id', 'status', 'line', 'since'];
/** Fields before the last line of such a row. */
const MAX_IN_LINE = 3;
/** Beside the text of a cell, in px. */
const PAD_PX = 20;
/** Bots of each kind whose data is visited to offer fields. */
const SAMPLE = 20;
/** Fields that are offered of one kind. */
const MAX_OFFERED = 500;

/** @returns undefined when there is no such column. */
export function columnOf(name: string): BotColumn | undefined {
  const own = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  if (own) {
    const [title, field, least, grow] = own;
    return {
      name,
      title: t(title),
      field: typeof field === 'string' ? botField(field) : field,
      least,
      grow,
    };
  }
  const field = /^(data|label)\./.test(name) && !name.includes(',') ? botField(name) : undefined;
  return field && { name, title: name.slice(name.indexOf('.') + 1), field, ...OF_FIELD };
}

export const BOTS_TABLE: ColumnTable<BotColumn> = {
  name: 'bots',
  fixed: 'id',
  // A single service has no nodes to show.
  columnOf: (name) => (name === 'node' && cluster.value === null ? undefined : columnOf(name)),
};

/** The default columns, with the pinned fields if all bots are of one kind. */
function usualColumns(shown: readonly BotSnapshot[], width: number): string[] {
  const [first] = shown;
  const isOneKind = first !== undefined && shown.every(({ kind }) => kind === first.kind);
  const pinned = isOneKind ? pinsOf(first.kind).map((path) => `data.${path}`) : [];
  const own = ['id', 'kind', 'status', 'since', 'restarts', 'node'];
  const all = [...own, ...pinned, 'silent', 'line', 'labels'];
  return whatFits(all, width);
}

/** @param width of the window, in px. */
function whatFits(names: readonly string[], width: number): string[] {
  const { whole, icons, iconsUpTo } = NAVIGATION;
  const room = width - (width > iconsUpTo ? whole : icons);
  let fitting = [...names];
  for (const name of LEFT_OUT) {
    const needed = columnsOf(BOTS_TABLE, fitting).reduce((sum, { least }) => sum + least, CHECK_PX);
    if (needed <= room) break;
    fitting = fitting.filter((one) => one !== name);
  }
  return fitting;
}

interface BotColumns {
  /** As the rows have them. */
  columns: readonly BotColumn[];
  /** As they are chosen: a narrow table does not show all of them. */
  chosen: ChosenColumns<BotColumn>;
  inLine: readonly BotColumn[] | undefined;
  /** Custom properties for the table. */
  style: Record<string, string>;
}

export function useBotColumns(shown: readonly BotSnapshot[], isNarrow: boolean): BotColumns {
  const chosen = useColumns(BOTS_TABLE, usualColumns(shown, useWidth()));
  const chars = useMemo(() => usualLength(shown.map(({ id }) => id.length)), [shown]);
  const { tracks, least } = gridOf(chosen.columns, {
    widths: chosen.widths,
    chars: { id: chars },
    // The other columns have more to show than ids.
    mostPercent: 32,
    padPx: PAD_PX,
    textPx: TEXT_PX,
    besidePx: CHECK_PX,
  });
  return {
    columns: isNarrow ? columnsOf(BOTS_TABLE, NARROW) : chosen.columns,
    chosen,
    inLine: isNarrow
      ? chosen.columns.filter(({ name }) => name.includes('.')).slice(0, MAX_IN_LINE)
      : undefined,
    style: { '--columns': `${CHECK_PX}px ${tracks}`, '--columns-width': least },
  };
}

/** All that bots have: the same of all of them, then the data fields and labels of each kind. */
export function offeredColumns(): OfferedColumns[] {
  return [
    { title: t('columns.everyBot'), names: Object.keys(OWN) },
    ...offeredFields(bots.values()),
  ];
}

/** The data fields and labels that bots have, by kind; some bots of each kind are visited. */
function offeredFields(bots: Iterable<BotSnapshot>): OfferedColumns[] {
  const kinds = new Map<string, { seen: number; names: Set<string> }>();
  for (const { kind, data, labels } of bots) {
    const known = kinds.get(kind) ?? { seen: 0, names: new Set<string>() };
    kinds.set(kind, known);
    if (known.seen >= SAMPLE) continue;
    known.seen += 1;
    const names = [
      ...flatten(data).map(({ path }) => `data.${path}`),
      ...Object.keys(labels).map((name) => `label.${name}`),
    ];
    for (const name of names) {
      if (known.names.size < MAX_OFFERED && columnOf(name)) known.names.add(name);
    }
  }
  return [...kinds]
    .map(([title, { names }]) => ({ title, names: [...names] }))
    .filter(({ names }) => names.length > 0)
    .sort((one, other) => (one.title < other.title ? -1 : 1));
}
