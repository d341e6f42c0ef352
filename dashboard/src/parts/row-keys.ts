// The keys of a row that is one stop of the Tab key: arrows move among what is in it.

const CONTROLS = 'a[href], button, input';

function controlsOf(row: Element): HTMLElement[] {
  return [...row.querySelectorAll<HTMLElement>(CONTROLS)].filter((one) => one.offsetWidth > 0);
}

function rowOf(element: Element | null): Element | null {
  return element?.closest('[role=row]') ?? null;
}

/** Moves the focus within its row with the left and the right arrow, `Home` and `End`. For `keydown` of a grid. */
export function moveInRow(event: KeyboardEvent): void {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const row = rowOf(event.target as Element);
  if (!row) return;
  const controls = controlsOf(row);
  const at = controls.indexOf(event.target as HTMLElement);
  const next = {
    ArrowLeft: Math.max(0, at - 1),
    ArrowRight: Math.min(controls.length - 1, at + 1),
    Home: 0,
    End: controls.length - 1,
  }[event.key];
  if (next === undefined || at < 0) return;
  event.preventDefault();
  event.stopPropagation();
  controls[next]?.focus();
}

/** Moves the focus from a row of the grid to the same place in another one; nothing while the focus is elsewhere. */
export function moveToRow(id: string): void {
  const from = rowOf(document.activeElement);
  const to = document.getElementById(id);
  if (!from || !to || from === to || from.closest('[role=grid]') !== to.closest('[role=grid]')) {
    return;
  }
  const at = controlsOf(from).indexOf(document.activeElement as HTMLElement);
  const controls = controlsOf(to);
  controls[Math.min(at, controls.length - 1)]?.focus({ preventScroll: true });
}
