// Runs in tabs. The rows of a run that a query lets through: how many there are, and the ones that are in view.

import { useEffect, useRef, useState } from 'preact/hooks';
import { inWords } from '../model/history-lines.js';
import { type Said, saidBy } from './note.js';
import type { OpenRun } from './open-runs.js';
import type { RunLine } from './recording.js';

/** Rows that are read at once, and such pages that are kept: the ones that were used last. */
const PAGE = 100;
const MAX_PAGES = 40;

export interface Selection {
  count: number;
  /** Every row was judged. */
  isDone: boolean;
  error: Said | undefined;
  /** Changes when rows have come. */
  version: number;
  /** Undefined until it is read. */
  row: (index: number) => RunLine | undefined;
}

interface State {
  count: number;
  isDone: boolean;
  error: Said | undefined;
}

/** Chooses the rows of a run: none of a report alone. One selection exists for each run. */
export function useSelection({ link, facts }: OpenRun, query: string): Selection {
  const all = facts?.recording?.rows ?? 0;
  const [state, setState] = useState<State>({ count: all, isDone: query === '', error: undefined });
  const [version, setVersion] = useState(0);
  const pages = useRef(new Pages(() => setVersion((before) => before + 1))).current;
  const isRecorded = facts?.recording !== undefined;
  useEffect(() => {
    if (!isRecorded) return;
    let isGone = false;
    pages.use((from, to) => link.ask('rows', [from, to]));
    const set = (next: Partial<State>): void => {
      if (!isGone) setState((before) => ({ ...before, ...next }));
    };
    // The rows of the last query are shown no more: their numbers mean others now.
    set({ count: query === '' ? all : 0, isDone: false, error: undefined });
    link
      .ask('select', [query], (count) => set({ count }))
      .then(
        ({ isDone, count }) => isDone && set({ count, isDone: true }),
        (thrown: unknown) => set({ error: saidBy(thrown), isDone: true }),
      );
    return () => {
      isGone = true;
    };
  }, [link, query, all, isRecorded]);
  return { ...state, version, row: (index) => pages.row(index) };
}

type Read = (from: number, to: number) => Promise<RunLine[]>;

/** Pages of rows. At most {@link MAX_PAGES}: the one that was used longest ago is dropped. */
class Pages {
  readonly #pages = new Map<number, RunLine[] | 'asked'>();
  readonly #onRows: () => void;
  #read: Read | undefined;

  constructor(onRows: () => void) {
    this.#onRows = onRows;
  }

  /** Rows are others from now on. */
  use(read: Read): void {
    this.#pages.clear();
    this.#read = read;
  }

  row(index: number): RunLine | undefined {
    const at = Math.floor(index / PAGE);
    const page = this.#pages.get(at);
    const row = page === 'asked' ? undefined : page?.[index - at * PAGE];
    if (page === undefined || (page !== 'asked' && !row)) this.#ask(at);
    else {
      this.#pages.delete(at);
      this.#pages.set(at, page);
    }
    return row;
  }

  #ask(at: number): void {
    const read = this.#read;
    if (!read) return;
    this.#pages.set(at, 'asked');
    const [oldest] = this.#pages.keys();
    if (this.#pages.size > MAX_PAGES && oldest !== undefined) this.#pages.delete(oldest);
    read(at * PAGE, (at + 1) * PAGE).then(
      (rows) => {
        if (this.#read !== read) return;
        this.#pages.set(at, rows.map(inWords));
        this.#onRows();
      },
      () => this.#read === read && this.#pages.delete(at),
    );
  }
}
