import { type Signal, signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';

/** For a component that follows a signal only at times. */
export const NEVER: Signal<number> = signal(0);

/** The signal's value, updated at most once per `ms`, with a trailing update. */
export function useThrottled<T>(source: Signal<T>, ms: number): T {
  const [value, setValue] = useState(source.peek());
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let at = 0;
    const take = (): void => {
      timer = undefined;
      at = performance.now();
      setValue(() => source.peek());
    };
    const unsubscribe = source.subscribe(() => {
      if (timer !== undefined) return;
      const wait = at + ms - performance.now();
      if (wait <= 0) take();
      else timer = setTimeout(take, wait);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [source, ms]);
  return value;
}
