import { useMemo } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { cluster } from '../model/cluster.js';
import { chooseColumns, columnChoice } from '../model/columns.js';
import { changeQuery, route } from '../model/route.js';
import { useWidth } from '../model/width.js';
import { language } from '../texts/text.js';
import { type Column, columnsOf, gridOf, usualColumns } from './bots-columns.js';

/** All that a row of two lines has room for. */
const NARROW: readonly string[] = ['id', 'status', 'line', 'since'];
/** Fields before the last line of such a row. */
const MAX_IN_LINE = 3;

export interface TableColumns {
  /** As the rows have them. */
  columns: readonly Column[];
  /** As they are chosen: a narrow table does not show all of them. */
  chosen: readonly Column[];
  inLine: readonly Column[] | undefined;
  hasNodes: boolean;
  /** Custom properties for the table. */
  style: Record<string, string>;
  /** Null for what the table shows by itself. */
  choose: (names: readonly string[] | null) => void;
}

/** The columns of the address, else those that were chosen in this browser, else the usual ones. */
export function useColumns(shown: readonly BotSnapshot[], isNarrow: boolean): TableColumns {
  const width = useWidth();
  const hasNodes = cluster.value !== null;
  const { names, widths } = columnChoice.value;
  const inAddress = route.value.query.get('columns')?.split(',');
  const wanted = inAddress ?? names ?? usualColumns(shown, hasNodes, width);
  const key = wanted.join();
  const chosen = useMemo(() => columnsOf(key.split(','), hasNodes), [key, hasNodes, language()]);
  const idChars = useMemo(
    () => shown.reduce((most, { id }) => Math.max(most, id.length), 0),
    [shown],
  );
  const { template, least } = gridOf(chosen, widths, idChars);
  return {
    columns: isNarrow ? columnsOf(NARROW, false) : chosen,
    chosen,
    inLine: isNarrow
      ? chosen.filter(({ name }) => name.includes('.')).slice(0, MAX_IN_LINE)
      : undefined,
    hasNodes,
    style: { '--bots-columns': template, '--bots-width': least },
    choose: (next) => {
      chooseColumns({ names: next });
      // The address has them too, so that a saved view and a link do.
      changeQuery({ columns: next?.join() ?? '' });
    },
  };
}
