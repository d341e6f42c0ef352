import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { connection } from './live.js';

export interface Resource<T> {
  value: T | undefined;
  /** Why there is no value, or why it is outdated. */
  error: Error | undefined;
  isLoading: boolean;
  reload: () => void;
}

/**
 * Loads a value for a view.
 * @param load is called again when one of `inputs` changes, after a reconnect, and every `everyMs` while the tab is visible.
 */
export function useResource<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  everyMs?: number,
): Resource<T> {
  const [state, setState] = useState<{ value?: T; error?: Error; isLoading: boolean }>({
    isLoading: true,
  });
  const latest = useRef(load);
  latest.current = load;
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...before, isLoading: true }));
    latest.current(abort.signal).then(
      (value) => !abort.signal.aborted && setState({ value, isLoading: false }),
      (thrown: unknown) => {
        if (abort.signal.aborted) return;
        const error = thrown instanceof Error ? thrown : new Error(String(thrown));
        setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...inputs, round]);
  const isOpen = connection.value.state === 'open';
  const wasLost = useRef(false);
  useEffect(() => {
    if (isOpen && wasLost.current) reload();
    wasLost.current = !isOpen;
  }, [isOpen]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => !document.hidden && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload };
}
