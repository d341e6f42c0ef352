// Runs in tabs. Owns the rows of one log: the lines of the ring that pass a filter, before them as much of the past as was
// scrolled to, and what joins the two: no line is there twice, and none is missing without a mark.

import { signal } from '@preact/signals';
import {
  ApiError,
  type DroverClient,
  type EventsPage,
  type EventsQuery,
  type Level,
} from '../../../src/client/index.js';
import { idBefore, isBehind, pastLines } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { plain } from '../parts/ansi.js';
import { connection, lines, linesEpoch } from './live.js';

export interface LogFilter {
  /** Empty lets all pass. So with the others. */
  levels: readonly Level[];
  scopes: readonly string[];
  bots: readonly string[];
  dir: '' | 'in' | 'out' | 'wire';
  text: string;
}

/** While it follows, rows beyond this are cut off at the top; they can be scrolled back to. */
const MAX_FOLLOWING = 20_000;
/** While it does not, nothing moves, up to this; then new lines are counted and not shown until it follows again. */
const MAX_HELD = 60_000;
const CUT = 2000;
const PAGE = 500;
/** A window with fewer rows than this asks for more of the past by itself. */
const FEW_ROWS = 200;
/** Pages that are asked for in one go, when they bring little or nothing: a search for what is rare. */
const MAX_PAGES = 20;
/** How often a page is asked for while the service says that it is to be asked for later. */
const MAX_TRIES = 10;

/** How it is with what came before the first row. `stopped`: much was searched, little was found, and there is more. */
export type Edge = 'more' | 'stopped' | 'loading' | 'end' | 'off' | 'failed';
/** In which of them the past can be asked for. */
const OPEN_EDGES: readonly Edge[] = ['more', 'stopped', 'failed'];

export class LogWindow {
  rows: Line[] = [];
  /** Number of the first row: lower with what is put before it, higher with what is cut off. */
  base = 0;
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly top = signal<Edge>('more');
  readonly topError = signal('');
  /** False while it shows a place in the past which has not been joined with the present. */
  readonly isJoined = signal(true);
  /** New lines that are not among the rows. */
  readonly held = signal(0);
  readonly filter: LogFilter;
  readonly #api: () => DroverClient;
  readonly #mark: string;
  #next = 0;
  #epoch = -1;
  #cursor: string | undefined;
  #beforeOfCursor: string | undefined;
  #abort = new AbortController();
  #isBusy = false;

  /** @param api of whoever is signed in when it is called. */
  constructor(filter: LogFilter, api: () => DroverClient) {
    this.filter = filter;
    this.#api = api;
    this.#mark = filter.text.toLowerCase();
  }

  close(): void {
    this.#abort.abort();
  }

  /** Begins with what is in the ring. */
  begin(): void {
    this.#reset();
    this.rows = lines.filter((line) => this.passes(line));
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
      return this.indexOf(id);
    }
    this.isJoined.value = false;
    this.#changed();
    try {
      const from = await this.#page({ order: 'oldest', after: idBefore(id) }, signal);
      this.rows = pastLines(from.events).filter((line) => this.passes(line));
      this.#changed();
      if (from.cursor === null) this.#join();
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

  passes(line: Line): boolean {
    if (line.level === 'gap') return true;
    const { levels, scopes, bots, dir } = this.filter;
    if (levels.length > 0 && !levels.includes(line.level)) return false;
    if (scopes.length > 0 && !scopes.includes(line.scope)) return false;
    if (bots.length > 0 && (line.bot === null || !bots.includes(line.bot))) return false;
    if (dir === 'wire' ? line.dir === null : dir !== '' && line.dir !== dir) return false;
    return this.#mark === '' || plain(line.text).toLowerCase().includes(this.#mark);
  }

  /** Takes what is new in the ring. @param isFollowing whether rows may be cut off at the top. */
  takeNew(isFollowing: boolean): void {
    if (!this.isJoined.peek()) return;
    if (this.#epoch !== linesEpoch.peek()) {
      // What is in the ring now does not go on from what was (this tab has slept): it begins anew, or stays as it is until
      // it is let go.
      if (isFollowing || this.rows.length === 0) this.begin();
      else this.held.value = lines.length;
      return;
    }
    const fresh = lines.slice(Math.max(0, this.#next - firstOf(lines)));
    if (fresh.length === 0) return;
    const last = this.rows.at(-1);
    const passing = fresh.filter(
      (line) => this.passes(line) && (!last || isBehind(line.id, last.id) !== false),
    );
    if (!isFollowing && this.rows.length + passing.length > MAX_HELD) {
      this.held.value += passing.length;
      this.#next = nextOf(lines);
      return;
    }
    this.#next = nextOf(lines);
    if (passing.length === 0) return;
    this.rows.push(...passing);
    if (isFollowing && this.rows.length > MAX_FOLLOWING + CUT) {
      const cut = this.rows.length - MAX_FOLLOWING;
      this.rows = this.rows.slice(cut);
      this.base += cut;
      this.#cursor = undefined;
      if (this.top.peek() === 'end') this.top.value = 'more';
    }
    this.#changed();
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
      // The cursor goes with the query that it came from.
      if (!this.#cursor) this.#beforeOfCursor = first?.id ?? lines[0]?.id;
      const place = { cursor: this.#cursor, before: this.#beforeOfCursor };
      const page = await this.#page({ order: 'newest', ...place }, signal);
      this.#cursor = page.cursor ?? undefined;
      const now = this.rows[0];
      // The first row was cut off meanwhile: what was asked for does not stand before the new one.
      if (first && now !== first) {
        this.#cursor = undefined;
        return 'more';
      }
      const found = pastLines(page.events)
        // There was none, and what came meanwhile is in the page too.
        .filter((line) => this.passes(line) && (!now || isBehind(now.id, line.id) !== false))
        .reverse();
      this.rows = [...found, ...this.rows];
      this.base -= found.length;
      if (found.length > 0) this.#changed();
      if (page.cursor === null) return 'end';
      if (found.length > 0 && this.rows.length >= FEW_ROWS) return 'more';
    }
    return 'stopped';
  }

  /** Puts what came next behind the last row, until that is the present. */
  async newer(): Promise<void> {
    if (this.#isBusy || this.isJoined.peek()) return;
    const last = this.rows.at(-1);
    if (!last) return this.#join();
    this.#isBusy = true;
    const { signal } = this.#abort;
    try {
      const page = await this.#page({ order: 'oldest', after: last.id }, signal);
      this.rows.push(...pastLines(page.events).filter((line) => this.passes(line)));
      const first = lines[0];
      const reached = this.rows.at(-1);
      const isAtRing = first && reached && isBehind(reached.id, first.id) === true;
      if (page.cursor === null || isAtRing) this.#join();
      this.#changed();
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
    this.#next = 0;
    this.takeNew(false);
  }

  /** Asks for a page with the filter, again when the service says that it is to be asked later: many search there. */
  async #page(place: EventsQuery, signal: AbortSignal): Promise<EventsPage> {
    const query = { ...this.#query(), ...place, limit: PAGE, signal };
    for (let tries = 1; ; tries++) {
      try {
        const page = await this.#api().events(query);
        signal.throwIfAborted();
        return page;
      } catch (thrown) {
        const wait = thrown instanceof ApiError ? thrown.retryAfterMs : undefined;
        if (wait === undefined || tries === MAX_TRIES) throw thrown;
        await new Promise((resolve) => setTimeout(resolve, wait));
        signal.throwIfAborted();
      }
    }
  }

  #query(): EventsQuery {
    const { levels, scopes, bots, text } = this.filter;
    return {
      kind: ['log'],
      ...(levels.length > 0 ? { level: levels } : {}),
      ...(scopes.length > 0 ? { scope: scopes } : {}),
      ...(bots.length > 0 ? { session: bots } : {}),
      ...(text !== '' ? { q: text.slice(0, 1000) } : {}),
    };
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
    this.#cursor = undefined;
    this.#epoch = linesEpoch.peek();
    this.rows = [];
    this.base = 0;
    this.held.value = 0;
    this.top.value = 'more';
  }

  #changed(): void {
    this.version.value += 1;
  }
}

function firstOf(list: readonly Line[]): number {
  return list[0]?.n ?? 0;
}

function nextOf(list: readonly Line[]): number {
  const last = list.at(-1);
  return last ? last.n + 1 : 0;
}
