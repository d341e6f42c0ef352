// Owns where the keyboard is: what takes the focus for a while gives it back, so that it is never nowhere.

/** @returns gives the focus back to what has it now, or to the content when that has gone meanwhile. */
export function keepFocus(): () => void {
  const had = document.activeElement;
  return () => {
    if (had instanceof HTMLElement && had.isConnected) had.focus();
    else focusContent();
  };
}

export function focusContent(): void {
  // From its beginning on, and wherever it is scrolled to.
  document.getElementById('main')?.focus({ preventScroll: true });
}
