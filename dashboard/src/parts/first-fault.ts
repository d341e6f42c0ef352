import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Faults } from './schema.js';

/** @returns a ref for a form. When `faults` change, it scrolls to the first one and focuses its field. */
export function useFirstFault(faults: Faults): RefObject<HTMLFormElement | null> {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (faults.size === 0) return;
    const fault = form.current?.querySelector('.fault');
    const folded = fault?.closest('details');
    if (folded) folded.open = true;
    fault?.closest('.field')?.querySelector<HTMLElement>('input, select, textarea')?.focus();
    fault?.scrollIntoView({ block: 'nearest' });
  }, [faults]);
  return form;
}
