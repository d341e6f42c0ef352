import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/** @returns a function that restores the focus to the current element, or to the content if that element is gone. */
export function keepFocus(): () => void {
  const had = document.activeElement;
  return () => {
    if (had instanceof HTMLElement && had.isConnected) had.focus();
    else focusContent();
  };
}

export function focusContent(): void {
  document.getElementById('main')?.focus({ preventScroll: true });
}

/**
 * Moves the focus to a list when an element beside it is removed while it has the focus.
 * @param list a CSS selector.
 */
export function useFocusFor(list: string, element: RefObject<HTMLElement | null>): void {
  useLayoutEffect(
    () => () => {
      if (!element.current?.contains(document.activeElement)) return;
      // After the element is removed and the list is redrawn.
      queueMicrotask(() => {
        const next = document.querySelector<HTMLElement>(list);
        if (next) next.focus({ preventScroll: true });
        else focusContent();
      });
    },
    [],
  );
}
