// Runs in tabs. Owns the logs that are shown side by side, one window for each, and their rows on one time axis.

import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { connection, linesEpoch, linesVersion } from '../model/live.js';
import { LogWindow } from '../model/log-window.js';
import { api } from '../model/session.js';
import { say } from '../parts/toasts.js';
import type { Bounds } from '../range/range.js';
import {
  align,
  baseOf,
  commonOf,
  type Loaded,
  limitsAfter,
  limitsBefore,
  type Row,
} from './align.js';

/** Bound of each log while nothing is followed. */
const HELD = { rows: 10_000, chars: 12 * 1024 * 1024 };
/** Rows are composed this often at most, in ms: that visits all lines. */
const ALIGN_MS = 200;

export interface Side {
  rows: readonly Row[];
  base: number;
  windows: readonly LogWindow[];
  older: () => void;
  newer: () => void;
  /** Returns to the end. */
  catchUp: () => void;
}

export function useSide(
  queries: readonly string[],
  range: Bounds,
  momentMs: number | undefined,
  isFollowing: boolean,
): Side {
  const following = useRef(isFollowing);
  following.current = isFollowing;
  const open = useRef(new Map<string, LogWindow>());
  const where = JSON.stringify([range, momentMs]);
  const windows = useMemo(() => {
    const kept = new Map<string, LogWindow>();
    const all = queries.map((query, at) => {
      // Two logs may have the same query.
      const key = `${at} ${where} ${query}`;
      const window =
        open.current.get(key) ?? new LogWindow({ query, bot: undefined, range }, api, HELD, say);
      kept.set(key, window);
      if (!open.current.has(key) && momentMs === undefined) window.begin();
      return window;
    });
    for (const [key, window] of open.current) if (!kept.has(key)) window.close();
    open.current = kept;
    return all;
  }, [queries.join('\n'), where]);
  useEffect(
    () => () => {
      for (const window of open.current.values()) window.close();
    },
    [],
  );

  const isOpen = connection.value.state === 'open';
  useEffect(() => {
    if (!isOpen) return;
    for (const window of windows) {
      if (momentMs !== undefined && window.rows.length === 0) void window.beginAt(momentMs);
      else window.fill();
    }
  }, [windows, isOpen]);
  useEffect(
    () =>
      effect(() => {
        void linesVersion.value;
        void linesEpoch.value;
        for (const window of windows) window.takeNew(following.current);
      }),
    [windows],
  );

  const shown = useRef<{ rows: readonly Row[]; base: number }>({ rows: [], base: 0 });
  const [, setRound] = useState(0);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const put = (): void => {
      timer = undefined;
      const logs = windows.map(loadedOf);
      const rows = align(
        logs.map(({ lines }) => lines),
        commonOf(logs),
      );
      shown.current = { rows, base: baseOf(rows, shown.current) };
      setRound((before) => before + 1);
    };
    put();
    const unsubscribe = effect(() => {
      for (const { version, top, isJoined, isAtEnd } of windows) {
        void version.value;
        void top.value;
        void isJoined.value;
        void isAtEnd.value;
      }
      timer ??= setTimeout(put, ALIGN_MS);
    });
    return () => {
      unsubscribe();
      clearTimeout(timer);
    };
  }, [windows]);

  return {
    ...shown.current,
    windows,
    older: () => {
      const common = commonOf(windows.map(loadedOf));
      for (const window of windows) if (limitsBefore(loadedOf(window), common)) void window.older();
    },
    newer: () => {
      const common = commonOf(windows.map(loadedOf));
      for (const window of windows) if (limitsAfter(loadedOf(window), common)) void window.newer();
    },
    catchUp: () => {
      for (const window of windows) window.catchUp();
    },
  };
}

function loadedOf({ rows, top, isJoined, isAtEnd }: LogWindow): Loaded {
  return {
    lines: rows,
    // A log that cannot be loaded must not hide the lines of the others.
    isWholeBefore: !['more', 'loading'].includes(top.peek()),
    isWholeAfter: isJoined.peek() || isAtEnd.peek(),
  };
}
