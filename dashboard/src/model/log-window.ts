// Runs in tabs. Owns the rows of one log: the lines of the ring that pass a filter, before them as much of the past as was
// scrolled to, and what joins the two: no line is there twice, and none is missing without a mark.

import { signal } from '@preact/signals';
import { ApiError, type DroverClient } from '../../../src/client/index.js';
import { idBefore, isBehind } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { connection, lines, linesEpoch } from './live.js';
import { type LogFilter, passesOf } from './log-filter.js';
import { LogPast } from './log-past.js';
import { type Bounds, LogRows } from './log-rows.js';

/** While it follows, what is beyond this is cut off at the top; it can be scrolled back to. */
const FOLLOWING: Bounds = { rows: 20_000, chars: 16 * 1024 * 1024 };
/**
 * While it does not, nothing moves, up to this: then new lines are counted and not shown until it follows again, and who goes
 * on into the past or back from it loses what is far behind.
 */
const HELD: Bounds = { rows: 60_000, chars: 48 * 1024 * 1024 };
/** A window with fewer rows than this asks for more of the past by itself. */
const FEW_ROWS = 200;
/** Pages that are asked for in one go, when they bring little or nothing: a search for what is rare. */
const MAX_PAGES = 20;

/** How it is with what came before the first row. `stopped`: much was searched, little was found, and there is more. */
export type Edge = 'more' | 'stopped' | 'loading' | 'end' | 'off' | 'failed';
/** In which of them the past can be asked for. */
const OPEN_EDGES: readonly Edge[] = ['more', 'stopped', 'failed'];

export class LogWindow {
  readonly #rows = new LogRows();
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly top = signal<Edge>('more');
  readonly topError = signal('');
  /** False while it shows a place in the past which has not been joined with the present. */
  readonly isJoined = signal(true);
  /** New lines that pass and are not among the rows. */
  readonly held = signal(0);
  /** What comes is counted only: between it and the last row some is left out. */
  #isHeld = false;
  readonly #passes: (line: Line) => boolean;
  readonly #past: LogPast;
  #next = 0;
  #epoch = -1;
  #abort = new AbortController();
  #isBusy = false;

  /** @param api of whoever is signed in when it is called. */
  constructor(filter: LogFilter, api: () => DroverClient) {
    this.#passes = passesOf(filter);
    this.#past = new LogPast(filter, api);
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

  /** Begins with what is in the ring. */
  begin(): void {
    this.#reset();
    this.#rows.append(lines.filter(this.#passes));
    this.#next = nextOf(lines);
    this.isJoined.value = true;
    this.#changed();
  }

  /** Begins around a line of whatever time. @returns its row's index, undefined when it is not there any more. */
  async beginAt(id: string): Promise<number | undefined> {
    this.#reset();
    const { signal } = this.#abort;
    if (lines.some((line) => line.id === id)) {
      this.begin();
      this.fill();
      return this.indexOf(id);
    }
    this.isJoined.value = false;
    this.#changed();
    try {
      const from = await this.#past.behind(idBefore(id), signal);
      this.#putBehind(from.lines);
      if (from.isLast) this.#join();
      await this.older();
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    }
    return this.indexOf(id);
  }

  indexOf(id: string): number | undefined {
    const at = this.rows.findIndex((line) => line.id === id);
    return at < 0 ? undefined : at;
  }

  /** Takes what is new in the ring. @param isFollowing whether rows may be cut off at the top. */
  takeNew(isFollowing: boolean): void {
    if (!this.isJoined.peek()) return;
    if (this.#epoch !== linesEpoch.peek()) {
      // The ring was filled anew: another hub has it, or this tab has slept, for long when all of it is behind the last row.
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
    const passing = this.#behindLast(fresh);
    if (passing.length === 0) return;
    // Once one line is left out all are: whatever fitted behind it would stand there as if nothing were missing.
    this.#isHeld ||= !isFollowing && !this.#rows.hasRoomFor(passing, HELD);
    if (this.#isHeld) {
      this.held.value = this.held.peek() + passing.length;
      return;
    }
    this.#rows.append(passing);
    if (isFollowing && this.#rows.cutOldest(FOLLOWING)) this.#goOnAbove();
    this.#changed();
  }

  /** Whether the ring has all that came behind the last row. */
  #isInRing(): boolean {
    const [first, last] = [lines[0], this.rows.at(-1)];
    return first !== undefined && last !== undefined && isBehind(first.id, last.id) === false;
  }

  /** Those that pass and are not among the rows. */
  #behindLast(some: readonly Line[]): Line[] {
    const last = this.rows.at(-1);
    return some.filter(
      (line) => this.#passes(line) && (!last || isBehind(line.id, last.id) !== false),
    );
  }

  /** To the present, from wherever it is. */
  catchUp(): void {
    if (!this.#isHeld && this.isJoined.peek()) return;
    this.begin();
    this.fill();
  }

  /** Loads what a window should have at the least. Not before the stream has begun: nobody knows then where the past ends. */
  fill(): void {
    // The service is there again: what it could not do it may do now.
    if (this.top.peek() === 'off') this.top.value = 'more';
    if (this.rows.length < FEW_ROWS) void this.older();
  }

  /** Puts a page of the past before the first row, or as many as it takes to have some rows. */
  async older(): Promise<void> {
    if (this.#isBusy || !OPEN_EDGES.includes(this.top.peek())) return;
    if (connection.peek().state !== 'open') return;
    this.#isBusy = true;
    this.top.value = 'loading';
    const { signal } = this.#abort;
    try {
      this.top.value = await this.#search(signal);
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    } finally {
      // Another beginning has its own.
      if (!signal.aborted) this.#isBusy = false;
    }
  }

  async #search(signal: AbortSignal): Promise<Edge> {
    for (let pages = 0; pages < MAX_PAGES; pages++) {
      const first = this.rows[0];
      const page = await this.#past.before(first?.id ?? lines[0]?.id, signal);
      const now = this.rows[0];
      // The first row was cut off meanwhile: what was asked for does not stand before the new one.
      if (first && now !== first) return 'more';
      // There was none, and what came meanwhile is in the page too.
      const found = page.lines.filter((line) => !now || isBehind(now.id, line.id) !== false);
      if (found.length > 0) this.#putBefore(found);
      if (page.isLast) return 'end';
      if (found.length > 0 && this.rows.length >= FEW_ROWS) return 'more';
    }
    return 'stopped';
  }

  #putBefore(found: readonly Line[]): void {
    this.#rows.prepend(found);
    if (this.#rows.cutNewest(HELD)) {
      this.#past.forgetBehind();
      this.isJoined.value = false;
      this.#isHeld = false;
      this.held.value = 0;
    }
    this.#changed();
  }

  #putBehind(found: readonly Line[]): void {
    this.#rows.append(found);
    if (this.#rows.cutOldest(HELD)) this.#goOnAbove();
    this.#changed();
  }

  /** What was the first row is not there any more. */
  #goOnAbove(): void {
    this.#past.forgetBefore();
    if (this.top.peek() === 'end') this.top.value = 'more';
  }

  /** Puts what came next behind the last row, until that is the present. */
  async newer(): Promise<void> {
    if (this.#isBusy || this.isJoined.peek()) return;
    if (this.rows.length === 0) return this.#join();
    this.#isBusy = true;
    const { signal } = this.#abort;
    try {
      for (let pages = 0; pages < MAX_PAGES && !this.isJoined.peek(); pages++) {
        const page = await this.#past.behind(this.rows.at(-1)?.id, signal);
        this.#putBehind(page.lines);
        const reached = this.rows.at(-1);
        const isAtRing = lines[0] && reached && isBehind(reached.id, lines[0].id) === true;
        if (page.isLast || isAtRing) this.#join();
        if (page.lines.length > 0) break;
      }
    } catch (thrown) {
      if (!signal.aborted) this.#failTop(thrown);
    } finally {
      // Another beginning has its own.
      if (!signal.aborted) this.#isBusy = false;
    }
  }

  /** What was read last was the present, or is in the ring: what the ring has beyond it goes on from there. */
  #join(): void {
    this.isJoined.value = true;
    this.#epoch = linesEpoch.peek();
    this.#next = nextOf(lines);
    this.#putBehind(this.#behindLast(lines));
  }

  #failTop(thrown: unknown): void {
    // What is busy says when to come again; what is off says nothing.
    const isOff =
      thrown instanceof ApiError && thrown.status === 503 && thrown.retryAfterMs === undefined;
    this.top.value = isOff ? 'off' : 'failed';
    this.topError.value = (thrown as Error).message;
  }

  #reset(): void {
    this.#abort.abort();
    this.#abort = new AbortController();
    this.#isBusy = false;
    this.#past.forgetBefore();
    this.#past.forgetBehind();
    this.#epoch = linesEpoch.peek();
    this.#rows.clear();
    this.#isHeld = false;
    this.held.value = 0;
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
