// Runs in tabs. Owns the columns of the bot table in localStorage: which, in which order, how wide. All tabs follow changes. The address
// can name others.

import { signal } from '@preact/signals';

export interface ColumnChoice {
  /** Null: those that the table has by itself. */
  names: readonly string[] | null;
  /** Widths in px of those that were resized. */
  widths: Readonly<Record<string, number>>;
}

const KEY = 'drover.columns';
export const MAX_COLUMNS = 20;
/** In px. */
export const WIDTHS = { least: 40, most: 1200 } as const;
const NOTHING: ColumnChoice = { names: null, widths: {} };

export const columnChoice = signal<ColumnChoice>(read());

export function chooseColumns(change: Partial<ColumnChoice>): void {
  columnChoice.value = { ...columnChoice.peek(), ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(columnChoice.value));
  } catch {
    // Storage is full or blocked: the choice applies to this tab only.
  }
}

/** @param width in px; undefined for the width that the column has by itself. */
export function setWidth(name: string, width: number | undefined): void {
  const { [name]: _, ...widths } = columnChoice.peek().widths;
  const bounded = width && Math.round(Math.min(WIDTHS.most, Math.max(WIDTHS.least, width)));
  chooseColumns({ widths: bounded === undefined ? widths : { ...widths, [name]: bounded } });
}

function read(): ColumnChoice {
  try {
    const { names, widths } = JSON.parse(
      localStorage.getItem(KEY) ?? '{}',
    ) as Partial<ColumnChoice>;
    const known = Object.entries(widths ?? {}).filter(([, width]) => Number.isFinite(width));
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
  if (key === KEY) columnChoice.value = read();
});
