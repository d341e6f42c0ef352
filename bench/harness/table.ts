// Tables and number formats for standard output.

/** Rows of cells under a title; the first column is text, the others are numbers. */
export interface Table {
  title: string;
  header: readonly string[];
  rows: readonly (readonly string[])[];
  /** Notes below the table. */
  notes: readonly string[];
}

export function renderTable(table: Table): string {
  const lines = [table.header, ...table.rows];
  const widths = table.header.map((_, column) =>
    Math.max(...lines.map((cells) => cells[column]?.length ?? 0)),
  );
  const render = (cells: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? '';
        return column === 0 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join('  ')
      .trimEnd();
  return [
    table.title,
    render(table.header),
    widths.map((width) => '-'.repeat(width)).join('  '),
    ...table.rows.map(render),
    ...table.notes.map((note) => `  ${note}`),
    '',
  ].join('\n');
}

/** Three significant digits with thousands separators; `-` for NaN. */
export function number(value: number): string {
  if (!Number.isFinite(value)) return '-';
  return value.toLocaleString('en-US', { maximumSignificantDigits: 3 });
}

/** A whole number with thousands separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

/** A share as whole percent. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
