// The cell that the arrows have reached in the row at the cursor of a log. The focus stays with the list, whose rows come and go.

import { useState } from 'preact/hooks';
import type { FieldName } from '../../../src/shared/query/fields.js';
import type { Column } from '../columns/column.js';
import type { Picked } from '../query/edit-query.js';

export interface LogCells {
  /** Undefined: the whole row. */
  cell: string | undefined;
  /** To the next cell, or one before. Before the first one is the whole row. */
  move: (by: number) => void;
  leave: () => void;
}

/** After the columns of the row at the cursor: leads to the lines around it. */
export const AROUND = 'around';

export function useLogCells(columns: readonly Column[], hasAround = false): LogCells {
  const [wanted, setWanted] = useState<string>();
  const names = [...columns.map(({ name }) => name), ...(hasAround ? [AROUND] : [])];
  const at = wanted === undefined ? -1 : names.indexOf(wanted);
  return {
    cell: names[at],
    move: (by) => setWanted(names[Math.max(-1, Math.min(names.length - 1, at + by))]),
    leave: () => setWanted(undefined),
  };
}

/** Of the row with this id, or of one of its cells. */
export function rowId(log: string, line: string, cell?: string): string {
  return `${log}-${line}${cell === undefined ? '' : `-${cell}`}`;
}

/** The value in this part of a row, which becomes a term of the query; undefined where there is none. */
export function valueIn(part: Element | null | undefined, isNot: boolean): Picked | undefined {
  const { field, value = '' } = (part as HTMLElement | null | undefined)?.dataset ?? {};
  return field === undefined ? undefined : { field: field as FieldName, value, isNot };
}
