import { useMemo } from 'preact/hooks';
import { cluster } from '../model/cluster.js';
import { changeQuery, route } from '../model/route.js';
import { chooseColumns, columnChoice } from './choice.js';
import { type Column, type ColumnTable, columnsOf } from './column.js';

export interface ChosenColumns<C extends Column = Column> {
  columns: readonly C[];
  /** Widths of the resized columns, in px. */
  widths: Readonly<Record<string, number>>;
  /** Null for the default columns. */
  choose: (names: readonly string[] | null) => void;
}

/** The columns of the address, else those that were chosen in this browser, else the usual ones. */
export function useColumns<C extends Column>(
  table: ColumnTable<C>,
  usual: readonly string[],
): ChosenColumns<C> {
  const { names, widths } = columnChoice(table.name).value;
  const inAddress = route.value.query.get('columns')?.split(',');
  const key = (inAddress ?? names ?? usual).join();
  const hasNodes = cluster.value !== null;
  // Keeps the same array while nothing changes, because a new one draws all rows again.
  const columns = useMemo(() => columnsOf(table, key.split(',')), [key, table, hasNodes]);
  const choose = useMemo(
    () =>
      (next: readonly string[] | null): void => {
        chooseColumns(table.name, { names: next });
        // Puts them into the address, so that links and saved views have them.
        changeQuery({ columns: next?.join() ?? '' });
      },
    [table],
  );
  return { columns, widths, choose };
}
