import { useMemo } from 'preact/hooks';
import { cluster } from '../model/cluster.js';
import { changeQuery, route } from '../model/route.js';
import { chooseColumns, columnChoice } from './choice.js';
import { type Column, type ColumnTable, columnsOf } from './column.js';

export interface ChosenColumns<C extends Column = Column> {
  columns: readonly C[];
  /** Of those that were resized, in px. */
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
  // The same array while nothing changes: rows are drawn again for a new one.
  const columns = useMemo(() => columnsOf(table, key.split(',')), [key, table, hasNodes]);
  const choose = useMemo(
    () =>
      (next: readonly string[] | null): void => {
        chooseColumns(table.name, { names: next });
        // The address has them too, so that a saved view and a link do.
        changeQuery({ columns: next?.join() ?? '' });
      },
    [table],
  );
  return { columns, widths, choose };
}
