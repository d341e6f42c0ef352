// Runs in tabs. Owns the columns of tables in localStorage: which, in which order, how wide. All tabs follow changes. The address can
// name others.

import { type Signal, signal } from '@preact/signals';
import { MAX_COLUMNS, type TableName } from './column.js';

export interface ColumnChoice {
  /** Null: the table's default columns. */
  names: readonly string[] | null;
  /** Widths in px of those that were resized. */
  widths: Readonly<Record<string, number>>;
}

const KEYS: Readonly<Record<TableName, string>> = {
  bots: 'drover.columns',
  log: 'drover.columns.log',
  tokens: 'drover.columns.tokens',
  nodes: 'drover.columns.nodes',
};
/** In px. */
const WIDTHS = { least: 40, most: 1200 } as const;
const NOTHING: ColumnChoice = { names: null, widths: {} };

const choices = new Map<TableName, Signal<ColumnChoice>>();

export function columnChoice(table: TableName): Signal<ColumnChoice> {
  const known = choices.get(table) ?? signal(read(table));
  choices.set(table, known);
  return known;
}

export function chooseColumns(table: TableName, change: Partial<ColumnChoice>): void {
  const choice = columnChoice(table);
  choice.value = { ...choice.peek(), ...change };
  try {
    localStorage.setItem(KEYS[table], JSON.stringify(choice.value));
  } catch {
    // Storage is full or blocked: the choice applies to this tab only.
  }
}

/** @param width in px; undefined for the default width of the column. */
export function setWidth(table: TableName, name: string, width: number | undefined): void {
  const { [name]: _, ...widths } = columnChoice(table).peek().widths;
  chooseColumns(table, {
    widths: width === undefined ? widths : { ...widths, [name]: bounded(width) },
  });
}

function bounded(width: number): number {
  return Math.round(Math.min(WIDTHS.most, Math.max(WIDTHS.least, width)));
}

function read(table: TableName): ColumnChoice {
  try {
    const { names, widths } = JSON.parse(
      localStorage.getItem(KEYS[table]) ?? '{}',
    ) as Partial<ColumnChoice>;
    const known = Object.entries(widths ?? {})
      .filter(([, width]) => Number.isFinite(width))
      .map(([name, width]) => [name, bounded(width)] as const);
    return {
      names: Array.isArray(names)
        ? names.filter((name) => typeof name === 'string').slice(0, MAX_COLUMNS)
        : null,
      widths: Object.fromEntries(known.slice(0, 10 * MAX_COLUMNS)),
    };
  } catch {
    return NOTHING;
  }
}

window.addEventListener('storage', ({ key }) => {
  for (const [table, choice] of choices) {
    if (key === KEYS[table]) choice.value = read(table);
  }
});
