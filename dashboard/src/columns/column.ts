// What a column of a table is, and how the columns of a table share its room. Pure.

export type TableName = 'bots' | 'log' | 'tokens' | 'nodes';

export const MAX_COLUMNS = 20;

export interface Column {
  name: string;
  title: string;
  /** Shown instead of the title where the column is too narrow for it. */
  sign?: string;
  /** In px, at the usual size of text. */
  least: number;
  /** Share of the room that is left; 0 for a width that stays. */
  grow: number;
}

export interface ColumnTable<C extends Column = Column> {
  name: TableName;
  /** The column that is always there. */
  fixed: string;
  /** @returns undefined when there is no such column now. */
  columnOf: (name: string) => C | undefined;
}

/** Those that exist, each once, with the fixed one, at most {@link MAX_COLUMNS}. */
export function columnsOf<C extends Column>(
  { fixed, columnOf }: ColumnTable<C>,
  names: readonly string[],
): C[] {
  const wanted = names.includes(fixed) ? names : [fixed, ...names];
  return [...new Set(wanted)].flatMap((name) => columnOf(name) ?? []).slice(0, MAX_COLUMNS);
}

/** Moves a column by some positions. */
export function moved(names: readonly string[], name: string, by: number): string[] {
  const at = names.indexOf(name);
  const to = Math.max(0, Math.min(names.length - 1, at + by));
  const rest = names.filter((one) => one !== name);
  return at < 0 ? [...names] : [...rest.slice(0, to), name, ...rest.slice(to)];
}

/**
 * The longest of these lengths, unless a few are far above the others: one name of 64 characters must not narrow the columns of all
 * rows. It is cut, and its cell has the whole text as a tooltip.
 */
export function usualLength(lengths: readonly number[]): number {
  const sorted = [...lengths].sort((a, b) => a - b);
  const most = sorted[Math.floor((sorted.length - 1) * 0.9)] ?? 0;
  return Math.min(sorted.at(-1) ?? 0, Math.ceil(most * 1.5) + 4);
}

interface GridOptions {
  widths: Readonly<Record<string, number>>;
  /** Characters of the longest value of columns that are not cut while there is room, and what is beside it in its cell, in px. */
  chars: Readonly<Record<string, number>>;
  padPx: number;
  /** Share of the table that such a column has for itself at most. */
  mostPercent: number;
  /** The usual size of text, in px. */
  textPx: number;
  /** What is beside the columns, in px. */
  besidePx: number;
}

/** Tracks for rows of which each is a separate grid: none knows how wide the text of another is. */
export function gridOf(
  columns: readonly Column[],
  { widths, chars, padPx, mostPercent, textPx, besidePx }: GridOptions,
): { tracks: string; least: string } {
  const takesRest = columns.some(
    ({ name, grow }) => grow > 0 && !(name in chars) && !(name in widths),
  );
  const tracks = columns.map(({ name, least, grow }) => {
    const width = widths[name];
    if (width !== undefined) return `${width}px`;
    const own = em(least);
    const whole = chars[name];
    // It grows up to its longest value before others share the rest, and gives way where there is no room.
    if (whole !== undefined && (takesRest || grow === 0)) {
      return `minmax(${own}, max(${own}, min(${whole}ch + ${padPx}px, ${mostPercent}%)))`;
    }
    return grow === 0 ? own : `minmax(${own}, ${grow}fr)`;
  });
  const known = columns.map(({ name }) => widths[name] ?? 0);
  const others = columns.map(({ name, least }) => (name in widths ? 0 : least));
  return {
    tracks: tracks.join(' '),
    least: `calc(${sum(known) + besidePx}px + ${em(sum(others))})`,
  };

  /** What has this width at the usual size of text grows with the text, which is larger on a wall display. */
  function em(px: number): string {
    return `${(px / textPx).toFixed(2)}em`;
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
