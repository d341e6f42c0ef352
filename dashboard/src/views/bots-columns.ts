// The columns of the bot table: what there is, what is shown, and how wide.

import type { BotSnapshot } from '../../../src/client/index.js';
import { type BotField, botField } from '../../../src/shared/query/bot-field.js';
import { flatten } from '../data/flatten.js';
import { pinsOf } from '../data/pins.js';
import { MAX_COLUMNS } from '../model/columns.js';
import { type PlainKey, t } from '../texts/text.js';

export interface Column {
  /** `id` and others, `data.<path>` or `label.<name>`. */
  name: string;
  title: string;
  /** Undefined for a column that cannot be sorted. */
  field: BotField | undefined;
  /** In px, at the usual size of text. */
  least: number;
  /** Share of the room that is left; 0 for a width that stays. */
  grow: number;
}

type Own = readonly [title: PlainKey, field: string | undefined, least: number, grow: number];
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
  line: ['term.lastLine', undefined, 140, 3],
  labels: ['term.labels', undefined, 184, 2],
};
/** Columns with the same everywhere, in the order in which they are offered. */
export const OWN_COLUMNS = Object.keys(OWN);
const OF_FIELD = { least: 90, grow: 0.6 };
/** Below this width of the window, in px, labels are left out of what is shown without a choice. */
const LABELS_PX = 1200;
/** The usual size of text, in px. */
const TEXT_PX = 14;
/** The column of check boxes. */
const CHECK_PX = 40;
/** Bots whose data is looked at to offer fields, of each kind. */
const SAMPLE = 20;
/** Fields that are offered of one kind. */
const MAX_OFFERED = 500;

/** @returns undefined when there is no such column. */
export function columnOf(name: string): Column | undefined {
  const own = Object.hasOwn(OWN, name) ? OWN[name] : undefined;
  if (own) {
    const [title, field, least, grow] = own;
    return {
      name,
      title: t(title),
      field: field === undefined ? undefined : botField(field),
      least,
      grow,
    };
  }
  const field = /^(data|label)\./.test(name) && !name.includes(',') ? botField(name) : undefined;
  return field && { name, title: name.slice(name.indexOf('.') + 1), field, ...OF_FIELD };
}

/** What is shown without a choice: with the pinned fields where all bots are of one kind. */
export function usualColumns(
  shown: readonly BotSnapshot[],
  hasNodes: boolean,
  width: number,
): string[] {
  const [first] = shown;
  const isOneKind = first !== undefined && shown.every(({ kind }) => kind === first.kind);
  const pinned = isOneKind ? pinsOf(first.kind).map((path) => `data.${path}`) : [];
  return [
    ...['id', 'kind', 'status', 'since', 'restarts', ...(hasNodes ? ['node'] : [])],
    ...pinned,
    'line',
    ...(width >= LABELS_PX ? ['labels'] : []),
  ];
}

/** Those that exist, each once, with the id, at most {@link MAX_COLUMNS}. */
export function columnsOf(names: readonly string[], hasNodes: boolean): Column[] {
  const wanted = names.includes('id') ? names : ['id', ...names];
  return [...new Set(wanted)]
    .filter((name) => name !== 'node' || hasNodes)
    .flatMap((name) => columnOf(name) ?? [])
    .slice(0, MAX_COLUMNS);
}

/** Moves a column by some places. */
export function moved(names: readonly string[], name: string, by: number): string[] {
  const at = names.indexOf(name);
  const to = Math.max(0, Math.min(names.length - 1, at + by));
  const rest = names.filter((one) => one !== name);
  return at < 0 ? [...names] : [...rest.slice(0, to), name, ...rest.slice(to)];
}

/** @param idChars characters of the longest id: it is not cut while there is room. */
export function gridOf(
  columns: readonly Column[],
  widths: Readonly<Record<string, number>>,
  idChars: number,
): { template: string; least: string } {
  const tracks = columns.map(({ name, least, grow }) => {
    const width = widths[name];
    if (width !== undefined) return `${width}px`;
    const own = em(least);
    if (name === 'id') return `minmax(max(${own}, min(${idChars}ch + 20px, 32%)), ${grow}fr)`;
    return grow === 0 ? own : `minmax(${own}, ${grow}fr)`;
  });
  const known = columns.map(({ name }) => widths[name] ?? 0);
  const others = columns.map(({ name, least }) => (name in widths ? 0 : least));
  return {
    template: `${CHECK_PX}px ${tracks.join(' ')}`,
    least: `calc(${sum(known) + CHECK_PX}px + ${em(sum(others))})`,
  };
}

/** What has this width at the usual size of text grows with the text, which is larger on a wall display. */
function em(px: number): string {
  return `${(px / TEXT_PX).toFixed(2)}em`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** The data fields and labels that bots have, by kind; of each kind some bots are looked at. */
export function offeredFields(bots: Iterable<BotSnapshot>): { kind: string; names: string[] }[] {
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
    .map(([kind, { names }]) => ({ kind, names: [...names] }))
    .filter(({ names }) => names.length > 0)
    .sort((one, other) => (one.kind < other.kind ? -1 : 1));
}
