// A list that takes one Tab stop: the arrows move between its rows and in them. For lists that have all their rows on the page.

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import {
  controlAt,
  controlsOf,
  makeCellsStops,
  moveInRow,
  moveOverRows,
  rowOf,
  rowsOf,
} from './row-keys.js';

interface TabStop {
  /** The control that had the focus last. */
  control: HTMLElement | undefined;
  row: number;
  at: number;
  hasFocus: boolean;
}

type Role = 'grid' | 'list';

interface OneStop<T> {
  role: Role;
  ref: RefObject<T | null>;
  onKeyDown: (event: KeyboardEvent) => void;
  onFocusIn: (event: FocusEvent) => void;
  onFocusOut: (event: FocusEvent) => void;
}

/**
 * @param role `grid` for a table, whose cells are stops of the arrows too; `list` for a list of links.
 * @returns properties of the element with the rows. Call it where they are rendered.
 */
export function useOneStop<T extends HTMLElement>(role: Role): OneStop<T> {
  const ref = useRef<T>(null);
  const tabStop = useRef<TabStop>({ control: undefined, row: 0, at: 0, hasFocus: false }).current;
  // After each rendering: rows and their controls come and go. The components set no tabindex, so none of theirs is overwritten.
  useLayoutEffect(() => {
    if (ref.current) settle(ref.current, role, tabStop);
  });
  return {
    role,
    ref,
    onKeyDown: (event) => {
      moveInRow(event);
      moveOverRows(event);
    },
    onFocusIn: ({ target }) => {
      const list = ref.current;
      const row = rowOf(target as Element);
      if (!list || !row) return;
      const at = controlsOf(row).indexOf(target as HTMLElement);
      if (at < 0) return;
      const control = target as HTMLElement;
      const index = rowsOf(list).indexOf(row);
      // The titles are another stop.
      if (index < 0) return;
      Object.assign(tabStop, { control, row: index, at, hasFocus: true });
      settle(list, role, tabStop);
    },
    onFocusOut: ({ target }) => {
      // One that is removed with the focus is gone by then, and its list settled.
      queueMicrotask(() => {
        if ((target as Element).isConnected && document.activeElement !== target) {
          tabStop.hasFocus = ref.current?.contains(document.activeElement) ?? false;
        }
      });
    },
  };
}

/** Leaves one Tab stop: the control that had the focus last, or its successor. */
function settle(list: HTMLElement, role: Role, tabStop: TabStop): void {
  if (role === 'grid') makeCellsStops(list);
  const rows = rowsOf(list);
  const { control, row, at, hasFocus } = tabStop;
  const isThere = control?.isConnected === true && rows.some((one) => one.contains(control));
  const next = rows[Math.min(row, rows.length - 1)];
  const stop = isThere ? control : next && controlAt(next, at);
  for (const one of rows.flatMap(controlsOf)) one.tabIndex = one === stop ? 0 : -1;
  // The focused control was removed.
  if (stop && hasFocus && !isThere && document.activeElement === document.body) {
    stop.focus({ preventScroll: true });
  }
}
