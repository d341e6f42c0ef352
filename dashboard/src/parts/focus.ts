// Owns where the keyboard is: what takes the focus for a while gives it back, so that it is never nowhere.

import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

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

/**
 * For what is beside a list and goes again, however it goes: when the focus is in it then, it goes to the list.
 * @param list a CSS selector.
 */
export function useFocusFor(list: string, element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(
    () => () => {
      if (!element.current?.contains(document.activeElement)) return;
      // When it has left the page, and the list is drawn anew.
      queueMicrotask(() => {
        const next = document.querySelector<HTMLElement>(list);
        if (next) next.focus({ preventScroll: true });
        else focusContent();
      });
    },
    [],
  );
}
