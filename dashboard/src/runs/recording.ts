// Runs in the worker of a run. Owns the index of a recording: where each line of the log is in the file. The lines themselves stay
// in the file and are read when they are shown, so that memory is bounded by the index: 21 bytes a line.

import type {
  BotSnapshot,
  EventsPage,
  EventsQuery,
  GapEvent,
  IncidentGroups,
  IncidentGroupsQuery,
  Level,
  PastStates,
  StatsQuery,
  StreamEvent,
} from '../../../src/client/index.js';
import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import type { Counted } from '../model/event-source.js';
import { firstWhere } from '../model/first-where.js';
import { Floats, Words } from './columns.js';
import { type FileLine, fileLines } from './file-lines.js';
import { type RecordedLine, recordedLine } from './log-line.js';
import { type Note, NoteError, note } from './note.js';
import { MAX_BOTS, RunBots } from './run-bots.js';
import { RunCauses } from './run-causes.js';
import type { LineCounts, Part, RecordingFacts } from './run-facts.js';
import { type EventTest, runTest } from './run-query.js';
import { RunSearch } from './run-search.js';

/** Rows of the log that are kept, 100 MB of index. What follows in the file is not read. */
const MAX_ROWS = 5_000_000;
const VERSION = 1;
const GAP: number = LEVELS.length;

/** Searches that are kept: of the log, its bars, and what happened beside incidents. */
const MAX_SEARCHES = 4;
/** Ids of rows are those of one epoch, in their order. */
const EPOCH = 'run';

interface Head {
  started_at_ms: number;
  url: string;
  filter: unknown;
}

export class Recording {
  readonly #file: Blob;
  readonly #maxRows: number;
  readonly #notes: Note[] = [];
  readonly #causes = new RunCauses();
  readonly #bots = new RunBots();
  readonly #levels: LineCounts = { info: 0, warn: 0, error: 0, state: 0 };
  readonly #at = new Floats();
  readonly #offset = new Floats();
  readonly #size = new Words();
  #level = new Uint8Array(4096);
  #head: Head = { started_at_ms: 0, url: '', filter: null };
  #end: { by: string; run_ms: number; missing: string | null } | undefined;
  #events = 0;
  #lastMs = 0;
  /** By query. */
  readonly #searches = new Map<string, RunSearch>();

  constructor(file: Blob, maxRows = MAX_ROWS) {
    this.#file = file;
    this.#maxRows = maxRows;
  }

  get facts(): RecordingFacts {
    return {
      startedAtMs: this.#head.started_at_ms,
      url: this.#head.url,
      isFiltered: this.#head.filter !== null,
      lengthMs: Math.max(this.#lastMs, this.#end?.run_ms ?? 0),
      endedBy: this.#end?.by ?? null,
      events: this.#events,
      rows: this.#at.length,
      levels: this.#levels,
      bots: this.#bots.all.length,
      causes: this.#causes.count,
    };
  }

  /** What is missing or could not be read. */
  get notes(): Note[] {
    return this.#notes;
  }

  /** Reads the file once. @param onPart gets the number of bytes that were read. @throws NoteError if it is no recording. */
  async read(onPart: (part: Part) => void): Promise<void> {
    let number = 0;
    let broken = 0;
    let firstBroken = 0;
    let isFull = false;
    let isCut = false;
    for await (const lines of fileLines(this.#file)) {
      for (const line of lines) {
        number += 1;
        if (number === 1) {
          this.#head = headIn(line);
          continue;
        }
        if (this.#at.length >= this.#maxRows) {
          isFull = true;
          break;
        }
        if (this.#take(line)) continue;
        if (line.isCut) isCut = true;
        else {
          broken += 1;
          firstBroken ||= number;
        }
      }
      const last = lines.at(-1);
      const bytes = last ? last.at + last.size : 0;
      onPart({ n: bytes, share: bytes / this.#file.size });
      if (isFull) break;
    }
    if (number === 0) throw new NoteError(note('runs.empty'));
    this.#note({ broken, firstBroken, isFull, isCut });
  }

  /** Ends the searches. What they have found stays. */
  stop(): void {
    for (const search of this.#searches.values()) search.end();
  }

  /** Restarts each search when it is next requested. */
  again(): void {
    this.stop();
    this.#searches.clear();
  }

  /** The rows that a query lets through, oldest or newest first: a page is answered as soon as its rows are found. */
  async events(asked: EventsQuery, onPart: (part: Part) => void): Promise<EventsPage> {
    const {
      order = 'newest',
      after,
      before,
      limit = 100,
      cursor,
      session = [],
      query = '',
    } = asked;
    const ofBots = session.length === 0 ? '' : `bot:${session.join()} `;
    const search = this.#searchFor(ofBots + query, onPart);
    const isNewest = order === 'newest';
    let from = this.#rowAfter(after);
    let to = this.#rowBefore(before);
    if (cursor !== undefined) [from, to] = isNewest ? [from, Number(cursor)] : [Number(cursor), to];
    await search.until(
      () =>
        search.seen >= to ||
        (!isNewest && search.indexOf(search.seen) - search.indexOf(from) > limit),
    );
    const [first, last] = [
      search.indexOf(from),
      Math.max(search.indexOf(from), search.indexOf(to)),
    ];
    const [begin, end] = isNewest
      ? [Math.max(first, last - limit), last]
      : [first, Math.min(last, first + limit)];
    const rows = Array.from({ length: end - begin }, (_, n) => search.rowOf(begin + n));
    const events = await Promise.all(rows.map((row) => this.#event(row)));
    if (isNewest) {
      return { events: events.reverse(), cursor: begin > first ? String(rows[0]) : null };
    }
    return { events, cursor: end < last ? String(search.rowOf(end)) : null };
  }

  /** Counts the lines that a query lets through, in steps of the range. */
  async stats(
    { after, before, step = 10, query = '' }: StatsQuery,
    onPart: (part: Part) => void,
  ): Promise<Counted> {
    const search = this.#searchFor(query, onPart);
    const to = this.#rowBefore(before);
    await search.until(() => search.seen >= to);
    const buckets = new Map<number, { at_ms: number; levels: Record<string, number> }>();
    for (let at = search.indexOf(this.#rowAfter(after)); at < search.indexOf(to); at++) {
      const row = search.rowOf(at);
      const level = LEVELS[this.#level[row] as number];
      if (level === undefined) continue;
      const ms = Math.floor(this.#timeOf(row) / 1000 / step) * step * 1000;
      const bucket = buckets.get(ms) ?? { at_ms: ms, levels: {} };
      bucket.levels[level] = (bucket.levels[level] ?? 0) + 1;
      buckets.set(ms, bucket);
    }
    return { buckets: [...buckets.values()], counted_from_ms: null };
  }

  /** The bots at a time. */
  states(atMs: number): PastStates {
    const started = this.#head.started_at_ms;
    return {
      at_ms: atMs,
      known_from_ms: started,
      is_in_gap: false,
      states: this.#bots.at(atMs - started, started),
      unknown: [],
    };
  }

  /** Failures and error lines by cause. */
  incidentGroups({ cause, after, before }: IncidentGroupsQuery): IncidentGroups {
    const started = this.#head.started_at_ms;
    const step = this.#causes.stepFor(this.#lastMs);
    const timeOf = (at: number): number => started + at * step;
    const isIn = (at: number): boolean =>
      timeOf(at + 1) > Number(after ?? 0) &&
      timeOf(at) < Number(before ?? Number.POSITIVE_INFINITY);
    const groups = this.#causes
      .list(step, started, cause)
      .map((group) => ({ ...group, counts: group.counts.map((n, at) => (isIn(at) ? n : 0)) }))
      .filter((group) => group.counts.some((n) => n > 0));
    return { groups, from_ms: started, step_ms: step, forgotten: 0, missing: [] };
  }

  /** The search for a query, which runs from the beginning of the file to its end. */
  #searchFor(query: string, onPart: (part: Part) => void): RunSearch {
    const known = this.#searches.get(query);
    if (known) {
      known.onPart(onPart);
      return known;
    }
    const test = runTest(query);
    const search = new RunSearch(this.#at.length, test !== undefined);
    this.#searches.delete(query);
    this.#searches.set(query, search);
    search.onPart(onPart);
    if (test) {
      this.#run(search, test).then(
        () => search.finish(),
        (thrown: Error) => search.finish(thrown),
      );
    }
    const [oldest, first] = [...this.#searches][0] ?? [];
    if (this.#searches.size > MAX_SEARCHES && oldest !== undefined) {
      first?.end();
      this.#searches.delete(oldest);
    }
    return search;
  }

  async #run(search: RunSearch, test: EventTest): Promise<void> {
    let row = 0;
    for await (const lines of fileLines(this.#file)) {
      if (search.isEnded) return;
      for (const line of lines) {
        const isRow = row < this.#at.length && line.at === this.#offset.at(row);
        if (passes(line, isRow ? this.#level[row] : undefined, test)) search.add(row);
        if (isRow) row += 1;
      }
      search.saw(row);
      if (row >= this.#at.length) return;
    }
  }

  /** The first row after an id, or at a time or after it. */
  #rowAfter(position: string | number | undefined): number {
    return typeof position === 'string' ? rowOf(position) + 1 : this.#rowAt(position ?? 0);
  }

  /** The first row that is not before an id or a time. */
  #rowBefore(position: string | number | undefined): number {
    return typeof position === 'string'
      ? rowOf(position)
      : this.#rowAt(position ?? Number.POSITIVE_INFINITY);
  }

  #rowAt(ms: number): number {
    return firstWhere(0, this.#at.length, (row) => this.#timeOf(row) >= ms);
  }

  #timeOf(row: number): number {
    return this.#head.started_at_ms + this.#at.at(row);
  }

  async #event(row: number): Promise<StreamEvent> {
    const offset = this.#offset.at(row);
    const text = await this.#file.slice(offset, offset + this.#size.at(row)).text();
    const event = eventIn(text);
    const id = `${EPOCH}-${row + 1}`;
    // The time of a row never goes back.
    if (event?.event === 'log') {
      return { id, event: 'log', data: { ...event.data, timestamp_ms: this.#timeOf(row) } };
    }
    if (event?.event === 'gap') return { id, event: 'gap', data: event.data };
    throw new NoteError(note('runs.changed'));
  }

  /** @returns whether the line could be read. */
  #take(line: FileLine): boolean {
    const event = line.text === undefined ? undefined : eventIn(line.text);
    if (!event) return false;
    if (event.event === 'end') {
      this.#end = event.data;
      return true;
    }
    // Rows are found by their time, so it never goes back, as the clock of the recording machine may.
    const atMs = Math.max(this.#lastMs, event.at_ms - this.#head.started_at_ms);
    this.#lastMs = atMs;
    this.#events += 1;
    if (event.event === 'session') {
      const reason = this.#bots.see(event.data.snapshot, atMs);
      if (reason !== undefined) {
        this.#causes.add('failed', reason, event.data.snapshot.id, atMs);
      }
      return true;
    }
    let level = GAP;
    if (event.event === 'log') {
      // What is kept is a copy: a text of this line may hold the whole part of the file that it was cut from.
      const { session_id, message } =
        event.data.level === 'error' ? structuredClone(event.data) : event.data;
      level = LEVELS.indexOf(event.data.level);
      const isError = event.data.level === 'error';
      this.#levels[event.data.level] += 1;
      if (session_id !== null) this.#bots.countLine(session_id, isError);
      if (isError) this.#causes.add('error line', message, session_id, atMs);
    }
    this.#addRow(line, atMs, level);
    return true;
  }

  #addRow({ at, size }: FileLine, atMs: number, level: number): void {
    const row = this.#at.length;
    if (row === this.#level.length) {
      const levels = new Uint8Array(row * 2);
      levels.set(this.#level);
      this.#level = levels;
    }
    this.#level[row] = level;
    this.#at.push(atMs);
    this.#offset.push(at);
    this.#size.push(size);
  }

  #note(what: { broken: number; firstBroken: number; isFull: boolean; isCut: boolean }): void {
    const { broken, firstBroken, isFull, isCut } = what;
    const add = (isSo: boolean, one: Note): void => {
      if (isSo) this.#notes.push(one);
    };
    if (isFull) {
      add(true, note('runs.onlyRows', { rows: this.#maxRows, s: secondsOf(this.#lastMs) }));
    } else if (!this.#end) {
      add(true, note(isCut ? 'runs.noEndCut' : 'runs.noEnd'));
    } else if (this.#end.missing !== null) {
      add(true, note('runs.unrecordedEnd', { missing: this.#end.missing }));
    }
    add(broken > 0, note('runs.brokenLines', { n: broken, line: firstBroken }));
    add(this.#head.filter !== null, note('runs.filtered'));
    add(this.#bots.isFull || this.#causes.isFull, note('runs.onlyBots', { n: MAX_BOTS }));
    const { fullMs } = this.#bots;
    add(fullMs !== undefined, note('runs.herdFull', { s: secondsOf(fullMs ?? 0) }));
    add(this.#causes.beyond > 0, note('runs.beyond', { n: this.#causes.beyond }));
  }
}

/** The row of an id. */
function rowOf(id: string): number {
  return Number(id.slice(EPOCH.length + 1)) - 1;
}

/** With one decimal. */
function secondsOf(ms: number): number {
  return Number((ms / 1000).toFixed(1));
}

function headIn({ text }: FileLine): Head {
  const value = text === undefined ? undefined : objectIn(text);
  const version = value?.['drover_recording'];
  if (version === undefined) {
    throw new NoteError(note('runs.noHead'));
  }
  if (version !== VERSION) {
    throw new NoteError(note('runs.version', { version: String(version), known: VERSION }));
  }
  const { started_at_ms, url, filter = null } = value ?? {};
  if (typeof started_at_ms !== 'number' || typeof url !== 'string') {
    throw new NoteError(note('runs.noStart'));
  }
  return { started_at_ms, url, filter };
}

type RunEvent =
  | RecordedLine
  | { event: 'gap'; at_ms: number; data: GapEvent }
  | { event: 'session'; at_ms: number; data: { snapshot: BotSnapshot } }
  | { event: 'end'; at_ms: number; data: { by: string; run_ms: number; missing: string | null } };

/** The event of a line, if it has what the views read. Others, of later versions, are not shown. */
export function eventIn(text: string): RunEvent | undefined {
  return recordedLine(text) ?? parsedEvent(text);
}

function parsedEvent(text: string): RunEvent | undefined {
  const value = objectIn(text);
  const data = value?.['data'];
  if (typeof value?.['at_ms'] !== 'number' || typeof data !== 'object' || data === null)
    return undefined;
  const fields = data as Record<string, unknown>;
  const isOf = (type: string, ...names: string[]): boolean =>
    names.every((name) => typeof fields[name] === type);
  switch (value['event']) {
    case 'log': {
      const isLine =
        isOf('string', 'message', 'scope') &&
        isOf('number', 'timestamp_ms') &&
        (fields['session_id'] === null || isOf('string', 'session_id')) &&
        LEVELS.includes(fields['level'] as Level);
      return isLine ? (value as unknown as RunEvent) : undefined;
    }
    case 'gap':
      return 'from' in fields ? (value as unknown as RunEvent) : undefined;
    case 'session':
      return isSnapshot(fields['snapshot']) ? (value as unknown as RunEvent) : undefined;
    case 'end':
      return isOf('number', 'run_ms') && isOf('string', 'by')
        ? (value as unknown as RunEvent)
        : undefined;
    default:
      return undefined;
  }
}

function isSnapshot(value: unknown): value is BotSnapshot {
  if (typeof value !== 'object' || value === null) return false;
  const { id, kind, status, labels, last_error } = value as Record<string, unknown>;
  return (
    [id, kind, status].every((one) => typeof one === 'string') &&
    typeof labels === 'object' &&
    labels !== null &&
    (last_error === null || typeof last_error === 'string')
  );
}

function objectIn(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown;
    return typeof value === 'object' && value !== null
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** @param level of the row; undefined for an event that is none, which a query about bots may need. */
function passes(line: FileLine, level: number | undefined, test: EventTest): boolean {
  if (level === GAP) return true;
  if (level === undefined && !test.needsBots) return false;
  if (level !== undefined && !test.mayPass(LEVELS[level] as Level, line)) return false;
  const event = line.text === undefined ? undefined : eventIn(line.text);
  if (event?.event === 'session') test.see(event.data.snapshot);
  return level !== undefined && event?.event === 'log' && test.passes(event.data);
}
