import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Answered, Asking, type Load, NOT_ASKED } from './asking.js';
import { connection } from './live.js';

export interface Resource<T> extends Answered<T> {
  reload: () => void;
}

interface Again {
  /** Asks again when one of these changes; the last answer stays until then. */
  when?: readonly unknown[];
  /** Asks again every so many ms while the tab is visible. */
  everyMs?: number;
}

/**
 * Loads a value for a view, and again after a reconnect.
 * @param question what `load` depends on. The answer to one question is never shown as that to another.
 */
export function useResource<T>(
  load: Load<T>,
  question: readonly unknown[],
  { when = [], everyMs }: Again = {},
): Resource<T> {
  const [state, setState] = useState<{ of: readonly unknown[]; now: Answered<T> }>();
  const latest = useRef(load);
  latest.current = load;
  const asking = useRef<Asking<T> | undefined>(undefined);
  const reload = useCallback(() => asking.current?.again(), []);
  useEffect(() => {
    const mine = new Asking<T>(
      (signal, show) => latest.current(signal, show),
      (now) => setState({ of: question, now }),
    );
    asking.current = mine;
    mine.again();
    return () => mine.stop();
  }, question);
  const isFirst = useRef(true);
  useEffect(() => {
    if (isFirst.current) isFirst.current = false;
    else reload();
  }, when);
  const isOpen = connection.value.state === 'open';
  const wasLost = useRef(false);
  useEffect(() => {
    if (isOpen && wasLost.current) asking.current?.restart();
    wasLost.current = !isOpen;
  }, [isOpen]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => !document.hidden && reload(), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const isAnswer = state?.of.every((part, at) => Object.is(part, question[at]));
  return { ...(isAnswer && state ? state.now : NOT_ASKED), reload };
}
