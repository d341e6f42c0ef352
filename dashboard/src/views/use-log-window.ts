import { effect } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { recorded } from '../model/event-source.js';
import { connection, linesEpoch, linesVersion } from '../model/live.js';
import type { LogFilter } from '../model/log-filter.js';
import { LogWindow } from '../model/log-window.js';
import { eventSource } from '../model/session.js';
import { say } from '../parts/toasts.js';

interface Shown {
  shown: LogWindow;
  /** Loads older lines. */
  load: () => void;
}

/**
 * A LogWindow for the filter, kept up to date.
 * @param place the id of a line, or a time in ms, at which it opens; undefined: at its end.
 * @param onPlace gets the id of the row that is there, undefined when there is none.
 */
export function useLogWindow(
  filter: LogFilter,
  place: string | number | undefined,
  following: { current: boolean },
  onPlace: (id: string | undefined) => void,
): Shown {
  const key = JSON.stringify(filter);
  const shown = useMemo(() => {
    const window = new LogWindow(filter, eventSource, undefined, say);
    if (place === undefined) window.begin();
    return window;
  }, [key, place]);
  const load = (): void => {
    if (place === undefined || shown.rows.length > 0) return void shown.older();
    void shown.beginAt(place).then((index) => {
      // Of a time without later lines, the last before it.
      const row = index === undefined && typeof place === 'number' ? -1 : index;
      onPlace(row === undefined ? undefined : shown.rows.at(row)?.id);
    });
  };
  const isOpen = recorded.value !== undefined || connection.value.state === 'open';
  useEffect(() => () => shown.close(), [shown]);
  useEffect(() => {
    if (!isOpen) return;
    if (place !== undefined && shown.rows.length === 0) load();
    else shown.fill();
  }, [shown, isOpen]);
  useEffect(
    () =>
      effect(() => {
        void linesVersion.value;
        void linesEpoch.value;
        shown.takeNew(following.current);
      }),
    [shown],
  );
  return { shown, load };
}
