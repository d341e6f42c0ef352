// The keys of lists whose rows hold controls: arrows move among what is in a row, and between rows.

/** Of tables that are grids. */
const CELLS = 'tbody :is(td, th)';
/** Cells have a tabindex where they are stops themselves. */
const CONTROLS = 'a[href], button:not(:disabled), input:not(:disabled), :is(td, th)[tabindex]';
const ROWS = '[role=row], tr, li';

/** What can have the focus in a row, in its order. */
export function controlsOf(row: Element): HTMLElement[] {
  return [...row.querySelectorAll<HTMLElement>(CONTROLS)].filter((one) => one.offsetWidth > 0);
}

export function rowOf(element: Element | null): Element | null {
  return element?.closest(ROWS) ?? null;
}

/** The rows of a grid or a list that have something to focus. The titles of columns are a separate stop. */
export function rowsOf(list: Element): Element[] {
  return [...list.querySelectorAll(ROWS)].filter(
    (row) => row.closest('thead') === null && controlsOf(row).length > 0,
  );
}

/** Cells without a control become something to focus, so that all of a row is read with the arrows. */
export function makeCellsStops(grid: Element): void {
  for (const cell of grid.querySelectorAll<HTMLElement>(CELLS)) {
    if (cell.querySelector(CONTROLS)) cell.removeAttribute('tabindex');
    else if (!cell.hasAttribute('tabindex')) cell.tabIndex = -1;
  }
}

/** Moves the focus within its row with the left and the right arrow, `Home` and `End`. For `keydown` of a grid. */
export function moveInRow(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const row = rowOf(event.target as Element);
  if (!row) return;
  const controls = controlsOf(row);
  // In a list of links all keys are for the list.
  if (controls.length < 2) return;
  const at = controls.indexOf(event.target as HTMLElement);
  const next = {
    ArrowLeft: Math.max(0, at - 1),
    ArrowRight: Math.min(controls.length - 1, at + 1),
    Home: 0,
    End: controls.length - 1,
  }[event.key];
  if (next === undefined || at < 0) return;
  take(event);
  controls[next]?.focus();
}

/**
 * Moves the focus to the same position in another row with the arrows up and down; `Home` and `End`, in a grid with Ctrl, lead to the first
 * and the last row. For `keydown` of a list with all its rows, after {@link moveInRow}.
 */
export function moveOverRows(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.metaKey || event.shiftKey) return;
  const from = rowOf(event.target as Element);
  if (!from) return;
  const rows = rowsOf(event.currentTarget as Element);
  const at = rows.indexOf(from);
  const isEdge = event.key === 'Home' || event.key === 'End';
  if (at < 0 || (event.ctrlKey && !isEdge)) return;
  const next = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: rows.length - 1 }[event.key];
  const to = next === undefined ? undefined : rows[next];
  if (!to) return;
  take(event);
  controlAt(to, controlsOf(from).indexOf(event.target as HTMLElement))?.focus();
}

/** Moves the focus from a row of the grid to the same position in another one; nothing while the focus is elsewhere. */
export function moveToRow(id: string): void {
  const from = rowOf(document.activeElement);
  const to = document.getElementById(id);
  if (!from || !to || from === to || from.closest('[role=grid]') !== to.closest('[role=grid]')) {
    return;
  }
  const at = controlsOf(from).indexOf(document.activeElement as HTMLElement);
  controlAt(to, at)?.focus({ preventScroll: true });
}

/** The control at this index of a row, or the last one of a shorter row. */
export function controlAt(row: Element, at: number): HTMLElement | undefined {
  const controls = controlsOf(row);
  return controls[Math.min(at, controls.length - 1)];
}

function take(event: KeyboardEvent): void {
  event.preventDefault();
  event.stopPropagation();
}
