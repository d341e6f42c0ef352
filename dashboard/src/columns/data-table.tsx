// A table with all its rows on the page, whose columns are chosen, moved and resized. It takes one Tab stop, its titles another.

import type { ComponentChildren } from 'preact';
import { useOneStop } from '../parts/one-stop.js';
import type { Column, ColumnTable } from './column.js';
import { ColumnTitles } from './column-titles.js';
import type { ChosenColumns } from './use-columns.js';

interface Props<R> {
  label: string;
  table: ColumnTable;
  chosen: ChosenColumns;
  rows: readonly R[];
  keyOf: (row: R) => string;
  /** Attributes of a row, for tests and styles. */
  attributesOf: (row: R) => Record<`data-${string}`, string>;
  cell: (name: string, row: R) => ComponentChildren;
  /** The last cell of each row, which is always visible and holds the actions. */
  end: { title: string; of: (row: R) => ComponentChildren };
}

export function DataTable<R>({ label, table, chosen, rows, ...rest }: Props<R>) {
  const { keyOf, attributesOf, cell, end } = rest;
  const { columns, widths, choose } = chosen;
  return (
    <div class="table-box">
      <table
        class={`data-table ${table.name}`}
        aria-label={label}
        style={{ '--columns': tracksOf(columns, widths) }}
        {...useOneStop<HTMLTableElement>('grid')}
      >
        <thead>
          <tr>
            <ColumnTitles as="th" table={table} columns={columns} onMove={choose} />
            <th class="row-end">
              <span class="unseen">{end.title}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} {...attributesOf(row)}>
              {columns.map(({ name, title, grow }) => (
                <td
                  key={name}
                  class={`${name === table.fixed ? 'row-name' : ''}${grow > 0 ? ' is-wrapped' : ''}`}
                  // Shown beside the value when the table is too narrow for columns.
                  data-title={name === table.fixed ? undefined : title}
                >
                  {cell(name, row)}
                </td>
              ))}
              <td class="row-end">{end.of(row)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** All rows share these tracks, so each column is as wide as its longest text. Columns with long texts are wrapped. */
function tracksOf(columns: readonly Column[], widths: ChosenColumns['widths']): string {
  const tracks = columns.map(({ name, grow }) => {
    const width = widths[name];
    if (width !== undefined) return `${width}px`;
    return grow > 0 ? 'minmax(9em, auto)' : 'minmax(max-content, auto)';
  });
  return `${tracks.join(' ')} max-content`;
}
