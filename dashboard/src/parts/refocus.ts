import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * Gives the focus back to a control that loses it when it is drawn elsewhere.
 * @returns what to call with its selector before that.
 */
export function useRefocus(): (selector: string) => void {
  const wanted = useRef<string | undefined>(undefined);
  useLayoutEffect(() => {
    const selector = wanted.current;
    if (selector === undefined) return;
    wanted.current = undefined;
    document.querySelector<HTMLElement>(selector)?.focus();
  });
  return (selector) => {
    wanted.current = selector;
  };
}
