// Runs in tabs. Owns the rows of one log: the recent lines that pass the filter, preceded by as much history as was scrolled
// to. At the seam no line appears twice, and none is missing without a gap row.

import { signal } from '@preact/signals';
import { ApiError } from '../../../src/client/index.js';
import { idBefore, isBehind } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { type EventSource, recorded } from './event-source.js';
import { clockAheadMs, connection, lines, linesEpoch } from './live.js';
import { type LogFilter, passesOf } from './log-filter.js';
import { LogHistory } from './log-history.js';
import { type Bounds, LogRows } from './log-rows.js';

/** Bound while following: older rows are cut, and can be loaded again by scrolling up. */
const FOLLOWING: Bounds = { rows: 20_000, chars: 16 * 1024 * 1024 };
/**
 * Bound while not following. Rows do not move then; when it is reached, new lines are only counted until following resumes, and
 * scrolling far in one direction cuts rows at the other end.
 */
const HELD: Bounds = { rows: 60_000, chars: 48 * 1024 * 1024 };
/** A window with fewer rows than this loads older lines by itself. */
const FEW_ROWS = 200;
/** Bound of the pages that one search for rare lines reads before it stops. */
const MAX_PAGES = 20;

/** What is before the first row. `stopped`: the search hit MAX_PAGES with few results, and there is more. */
export type Edge = 'more' | 'stopped' | 'loading' | 'end' | 'off' | 'failed';
/** The edges at which older lines can be loaded. */
const LOADABLE_EDGES: readonly Edge[] = ['more', 'stopped', 'failed'];

export class LogWindow {
  readonly #rows = new LogRows();
  /** Incremented when the rows change. */
  readonly version = signal(0);
  readonly top = signal<Edge>('more');
  readonly topError = signal('');
  /** False while the rows are a part of the history that does not reach the live lines yet. */
  readonly isJoined = signal(true);
  /** The rows reach the end of a range that is over. Then they never reach the live lines. */
  readonly isAtEnd = signal(false);
  readonly #isOver: boolean;
  /** Number of new lines that pass the filter but are not among the rows. */
  readonly held = signal(0);
  /** New lines are only counted: some between them and the last row were skipped. */
  #isHeld = false;
  readonly #passes: (line: Line) => boolean;
  readonly #history: LogHistory;
  readonly #heldBound: Bounds;
  #next = 0;
  #epoch = -1;
  #abort = new AbortController();
  #isBusy = false;

  /**
   * @param source returns where events are read: that of the current session, or a recording.
   * @param held the bound while not following.
   * @param say tells the user that the past lines of a node are missing.
   */
  constructor(
    filter: LogFilter,
    source: () => Pick<EventSource, 'events'>,
    held: Bounds = HELD,
    say: (text: string) => void = () => {},
  ) {
    this.#heldBound = held;
    this.#passes = passesOf(filter);
    this.#isOver =
      recorded.peek() !== undefined ||
      (filter.range?.toMs !== undefined && filter.range.toMs <= Date.now() - clockAheadMs.peek());
    this.#history = new LogHistory(filter, source, say);
  }

  get rows(): readonly Line[] {
    return this.#rows.list;
  }

  /** Number of the first row. */
  get base(): number {
    return this.#rows.base;
  }

  close(): void {
    this.#abort.abort();
  }

  /** Starts with the live lines, or at the end of a range that is over: {@link fill} loads those. */
  begin(): void {
    this.#reset();
    if (this.#isOver) {
      this.isJoined.value = false;
      this.isAtEnd.value = true;
      this.#changed();
      return;
    }
    this.#rows.append(lines.filter(this.#passes));
    this.#next = nextOf(lines);
    this.isJoined.value = true;
    this.#changed();
  }

  /**
   * Starts around any stored line, or around a time in ms. @returns the row index of the line, or of the first from that time on;
   * undefined if there is none.
   */
  async beginAt(target: string | number): Promise<number | undefined> {
    this.#reset();
    const { signal } = this.#abort;
    if (!this.#isOver && lines.some((line) => line.id === target)) {
      this.begin();
      this.fill();
      return this.indexOf(target);
    }
    this.isJoined.value = false;
    this.#changed();
    try {
      const after = typeof target === 'number' ? target : idBefore(target);
      const from = await this.#history.after(after, signal);
      this.#append(from.lines);
      if (from.isLast) this.#join();
      await this.older();
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    }
    return this.indexOf(target);
  }

  /** @param target the id of a line, or a time. */
  indexOf(target: string | number): number | undefined {
    const at = this.rows.findIndex((line) =>
      typeof target === 'number' ? line.at >= target : line.id === target,
    );
    return at < 0 ? undefined : at;
  }

  /** Takes new live lines. @param isFollowing whether rows may be cut at the top. */
  takeNew(isFollowing: boolean): void {
    if (!this.isJoined.peek()) return;
    if (this.#epoch !== linesEpoch.peek()) {
      // The lines were replaced, by another hub or after this tab was frozen; if long, they no longer include the last row.
      this.#epoch = linesEpoch.peek();
      this.#next = 0;
      this.#isHeld ||= this.rows.length > 0 && !this.#isInRing();
    }
    if (isFollowing && this.#isHeld) {
      this.begin();
      this.fill();
      return;
    }
    const fresh = lines.slice(Math.max(0, this.#next - firstOf(lines)));
    this.#next = nextOf(lines);
    const passing = this.#afterLast(fresh);
    if (passing.length === 0) return;
    // Once one line is skipped, skip all: a later line that fits would hide the hole.
    this.#isHeld ||= !isFollowing && !this.#rows.hasRoomFor(passing, this.#heldBound);
    if (this.#isHeld) {
      this.held.value = this.held.peek() + passing.length;
      return;
    }
    this.#rows.append(passing);
    if (isFollowing && this.#rows.cutOldest(FOLLOWING)) this.#reopenTop();
    this.#changed();
  }

  /** Whether the live lines include everything after the last row. */
  #isInRing(): boolean {
    const [first, last] = [lines[0], this.rows.at(-1)];
    return first !== undefined && last !== undefined && isBehind(first.id, last.id) === false;
  }

  /** The lines that pass the filter and come after the last row. */
  #afterLast(some: readonly Line[]): Line[] {
    const last = this.rows.at(-1);
    return some.filter(
      (line) => this.#passes(line) && (!last || isBehind(line.id, last.id) !== false),
    );
  }

  /** Returns to the live lines. */
  catchUp(): void {
    if (!this.#isHeld && (this.isJoined.peek() || this.isAtEnd.peek())) return;
    this.begin();
    this.fill();
  }

  /** Loads older lines up to FEW_ROWS. Only once the stream is open: it marks where the history ends. */
  fill(): void {
    // A new connection: the journal may be available now.
    if (this.top.peek() === 'off') this.top.value = 'more';
    if (this.rows.length < FEW_ROWS) void this.older();
  }

  /** Loads older lines: one page, or as many as it takes to find some rows. */
  async older(): Promise<void> {
    if (this.#isBusy || !LOADABLE_EDGES.includes(this.top.peek())) return;
    if (!recorded.peek() && connection.peek().state !== 'open') return;
    this.#isBusy = true;
    this.top.value = 'loading';
    const { signal } = this.#abort;
    try {
      this.top.value = await this.#search(signal);
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    } finally {
      // After a reset the flag belongs to the new state.
      if (!signal.aborted) this.#isBusy = false;
    }
  }

  async #search(signal: AbortSignal): Promise<Edge> {
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const first = this.rows[0];
      const page = await this.#history.before(first?.id ?? this.#firstLive(), signal);
      const now = this.rows[0];
      // The first row was cut during the request: the page does not precede the new one.
      if (first && now !== first) return 'more';
      // If there was no row, the page may include lines that arrived meanwhile.
      const found = page.lines.filter((line) => !now || isBehind(now.id, line.id) !== false);
      if (found.length > 0) this.#prepend(found);
      if (page.isLast) return 'end';
      if (found.length > 0 && this.rows.length >= FEW_ROWS) return 'more';
    }
    return 'stopped';
  }

  /** Where the history of a window without rows ends; undefined: at the end of its range. */
  #firstLive(): string | undefined {
    return this.#isOver ? undefined : lines[0]?.id;
  }

  #prepend(found: readonly Line[]): void {
    this.#rows.prepend(found);
    if (this.#rows.cutNewest(this.#heldBound)) {
      this.#history.resetAfter();
      this.isJoined.value = false;
      this.isAtEnd.value = false;
      this.#isHeld = false;
      this.held.value = 0;
    }
    this.#changed();
  }

  #append(found: readonly Line[]): void {
    this.#rows.append(found);
    if (this.#rows.cutOldest(this.#heldBound)) this.#reopenTop();
    this.#changed();
  }

  /** The first rows were cut. */
  #reopenTop(): void {
    this.#history.resetBefore();
    if (this.top.peek() === 'end') this.top.value = 'more';
  }

  /** Loads newer lines, until they reach the live lines. */
  async newer(): Promise<void> {
    if (this.#isBusy || this.isJoined.peek() || this.isAtEnd.peek()) return;
    if (this.rows.length === 0) return this.#join();
    this.#isBusy = true;
    const { signal } = this.#abort;
    try {
      for (let pages = 0; pages < MAX_PAGES; pages++) {
        const page = await this.#history.after(this.rows.at(-1)?.id, signal);
        this.#append(page.lines);
        const reached = this.rows.at(-1);
        const [live] = this.#isOver ? [] : lines;
        const isAtRing = live && reached && isBehind(reached.id, live.id) === true;
        if (page.isLast || isAtRing) this.#join();
        if (page.isLast || isAtRing || page.lines.length > 0) break;
      }
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    } finally {
      // After a reset the flag belongs to the new state.
      if (!signal.aborted) this.#isBusy = false;
    }
  }

  /** The rows reach the live lines: append the rest of those. Or the end of the range. */
  #join(): void {
    if (this.#isOver) {
      this.isAtEnd.value = true;
      return;
    }
    this.isJoined.value = true;
    this.#epoch = linesEpoch.peek();
    this.#next = nextOf(lines);
    this.#append(this.#afterLast(lines));
  }

  #failTop(thrown: unknown): void {
    // A busy journal sends Retry-After; one that is off does not.
    const isOff =
      thrown instanceof ApiError && thrown.status === 503 && thrown.retryAfterMs === undefined;
    this.top.value = isOff ? 'off' : 'failed';
    this.topError.value = (thrown as Error).message;
  }

  #reset(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#isBusy = false;
    this.#history.resetBefore();
    this.#history.resetAfter();
    this.#epoch = linesEpoch.peek();
    this.#rows.clear();
    this.#isHeld = false;
    this.held.value = 0;
    this.isAtEnd.value = false;
    this.top.value = 'more';
  }

  #changed(): void {
    this.version.value = this.version.peek() + 1;
  }
}

function firstOf(list: readonly Line[]): number {
  return list[0]?.n ?? 0;
}

function nextOf(list: readonly Line[]): number {
  const last = list.at(-1);
  return last ? last.n + 1 : 0;
}
