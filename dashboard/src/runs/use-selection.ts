// Runs in tabs. The rows of a run that a query lets through: how many there are, and the ones that are in view.

import { useEffect, useRef, useState } from 'preact/hooks';
import { inWords } from '../model/history-lines.js';
import { type Said, saidBy } from './note.js';
import type { OpenRun } from './open-runs.js';
import type { RunLine } from './recording.js';

/** Rows that are read at once, and such pages that are kept: the ones that were used last. */
const PAGE = 100;
const MAX_PAGES = 40;

/** A search that takes longer says how far it is, in ms. */
const SLOW_MS = 300;

/** A search that takes long, or was cancelled. */
export interface Search {
  /** Of the rows that were judged, from 0 to 1. */
  share: number;
  isCancelled: boolean;
}

export interface Selection extends State {
  /** Changes when rows have come. */
  version: number;
  /** Undefined until it is read. */
  row: (index: number) => RunLine | undefined;
  /** Ends the search: what was found stays. */
  cancel: () => void;
  again: () => void;
}

interface State {
  count: number;
  /** Every row was judged, or the search was cancelled. */
  isDone: boolean;
  error: Said | undefined;
  /** Undefined while a search is quick, and when it has judged every row. */
  search: Search | undefined;
}

const BEGUN = { isDone: false, error: undefined, search: undefined };

/** Chooses the rows of a run: none of a report alone. One selection exists for each run. */
export function useSelection({ link, facts }: OpenRun, query: string): Selection {
  const all = facts?.recording?.rows ?? 0;
  const [state, setState] = useState<State>({ ...BEGUN, count: all, isDone: query === '' });
  const [round, setRound] = useState(0);
  const [version, setVersion] = useState(0);
  /** It was asked for with the button that has cancelled it, which keeps the focus: it says at once how far it is. */
  const isAgain = useRef(false);
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
    set({ ...BEGUN, count: query === '' ? all : 0 });
    let share = 0;
    let isSlow = isAgain.current;
    isAgain.current = false;
    const say = (): void => set({ search: { share, isCancelled: false } });
    const begin = (): void => {
      isSlow = true;
      say();
    };
    if (isSlow) say();
    const slow = isSlow ? undefined : setTimeout(begin, SLOW_MS);
    const end = (last: Partial<State>): void => {
      clearTimeout(slow);
      set({ ...last, isDone: true });
    };
    link
      .ask('select', [query], (part) => {
        share = part.share;
        set({ count: part.n });
        if (isSlow) say();
      })
      .then(
        // One that is not done was cancelled, or another one has begun.
        ({ isDone, count }) => isDone && end({ count, search: undefined }),
        (thrown: unknown) => end({ error: saidBy(thrown), search: undefined }),
      );
    return () => {
      isGone = true;
      clearTimeout(slow);
    };
  }, [link, query, all, isRecorded, round]);
  const cancel = (): void => {
    link.ask('stop', []).then(
      (count) =>
        setState((before) => {
          const { isDone, search } = before;
          // It may have come to its end meanwhile.
          if (isDone || !search) return before;
          return { ...before, count, isDone: true, search: { ...search, isCancelled: true } };
        }),
      // The search says what is wrong.
      () => {},
    );
  };
  const again = (): void => {
    isAgain.current = true;
    setRound((before) => before + 1);
  };
  return { ...state, version, row: (index) => pages.row(index), cancel, again };
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
