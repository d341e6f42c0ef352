// Runs in the worker of a run. Owns the index of a recording: where each line of the log is in the file. The lines themselves stay
// in the file and are read when they are shown, so that memory is bounded by the index: 21 bytes a line.

import type { BotSnapshot, GapEvent, Level } from '../../../src/client/index.js';
import { LEVELS } from '../../../src/shared/contract/event-kinds.js';
import { gapLine, logLine } from '../hub/line.js';
import type { Line } from '../hub/messages.js';
import { firstWhere } from '../model/first-where.js';
import { Floats, Words } from './columns.js';
import { type FileLine, fileLines } from './file-lines.js';
import { type RecordedLine, recordedLine } from './log-line.js';
import { type Note, NoteError, note } from './note.js';
import { type HerdBot, RunBots } from './run-bots.js';
import { RunCauses } from './run-causes.js';
import type { LineCounts, Part, RecordingFacts } from './run-facts.js';
import { type EventTest, runTest } from './run-query.js';

/** Rows of the log that are kept, 100 MB of index. What follows in the file is not read. */
const MAX_ROWS = 5_000_000;
const VERSION = 1;
const GAP: number = LEVELS.length;
/** Rows are counted by this many columns: the levels, and gaps. */
export const BAR_COLUMNS = GAP + 1;

/** A line of a run, with its time in ms since the start. */
export interface RunLine extends Line {
  sinceMs: number;
}

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
  readonly #place = new Floats();
  readonly #size = new Words();
  #level = new Uint8Array(4096);
  #head: Head = { started_at_ms: 0, url: '', filter: null };
  #end: { by: string; run_ms: number; missing: string | null } | undefined;
  #events = 0;
  #lastMs = 0;
  /** Rows that the query lets through; undefined when all are. */
  #matches: Words | undefined;
  #round = 0;

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
      bots: [...this.#bots.all],
      causes: this.#causes.list(),
    };
  }

  /** What is missing or could not be read. */
  get notes(): Note[] {
    return this.#notes;
  }

  /** Reads the file once. @param onPart is told how many bytes were read. @throws NoteError if it is no recording. */
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

  /** Chooses the rows that the query lets through. @param onPart is told how many there are so far. @returns whether it is done: another one may have been chosen meanwhile. */
  async select(query: string, onPart: (part: Part) => void): Promise<boolean> {
    const round = ++this.#round;
    const test = runTest(query);
    if (!test) {
      this.#matches = undefined;
      return true;
    }
    const matches = new Words();
    this.#matches = matches;
    let row = 0;
    for await (const lines of fileLines(this.#file)) {
      if (round !== this.#round) return false;
      for (const line of lines) {
        const isRow = row < this.#at.length && line.at === this.#place.at(row);
        if (passes(line, isRow ? this.#level[row] : undefined, test)) matches.push(row);
        if (isRow) row += 1;
      }
      onPart({ n: matches.length, share: row / Math.max(1, this.#at.length) });
      if (row >= this.#at.length) break;
    }
    return round === this.#round;
  }

  /** Ends a search. What it has chosen stays. @returns how many rows that are. */
  stop(): number {
    this.#round += 1;
    return this.count;
  }

  /** Of the chosen rows. */
  get count(): number {
    return this.#matches?.length ?? this.#at.length;
  }

  /** The first chosen row at a time or after it, by its number among the chosen ones. */
  indexAt(ms: number): number {
    return firstWhere(0, this.count, (index) => this.#at.at(this.#row(index)) >= ms);
  }

  /** @returns for each bar the chosen rows by level, then gaps: {@link BAR_COLUMNS} numbers. */
  bars(fromMs: number, stepMs: number, count: number): number[] {
    const bars = new Array<number>(count * BAR_COLUMNS).fill(0);
    const to = this.indexAt(fromMs + stepMs * count);
    for (let index = this.indexAt(fromMs); index < to; index++) {
      const row = this.#row(index);
      const bar = Math.floor((this.#at.at(row) - fromMs) / stepMs);
      const column = bar * BAR_COLUMNS + (this.#level[row] as number);
      bars[column] = (bars[column] as number) + 1;
    }
    return bars;
  }

  /** The chosen rows from one number to another, read from the file. */
  async rows(from: number, to: number): Promise<RunLine[]> {
    const chosen = Array.from({ length: Math.max(0, Math.min(to, this.count) - from) }, (_, n) =>
      this.#row(from + n),
    );
    return Promise.all(chosen.map((row) => this.#line(row)));
  }

  /** The bots at a time, in ms since the start. */
  herd(ms: number): HerdBot[] {
    return this.#bots.at(ms);
  }

  #row(index: number): number {
    return this.#matches ? this.#matches.at(index) : index;
  }

  async #line(row: number): Promise<RunLine> {
    const place = this.#place.at(row);
    const text = await this.#file.slice(place, place + this.#size.at(row)).text();
    const event = eventIn(text);
    const sinceMs = this.#at.at(row);
    const at = this.#head.started_at_ms + sinceMs;
    const id = String(row);
    if (event?.event === 'log') return { ...logLine(id, event.data), n: row, sinceMs };
    if (event?.event === 'gap') return { ...gapLine(id, event.data, at), n: row, sinceMs };
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
        this.#causes.add('failure', reason, event.data.snapshot.id, atMs);
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
    this.#place.push(at);
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
    add(this.#bots.isFull, note('runs.onlyBots', { n: this.#bots.all.length }));
    const { fullMs } = this.#bots;
    add(fullMs !== undefined, note('runs.herdFull', { s: secondsOf(fullMs ?? 0) }));
    add(this.#causes.beyond > 0, note('runs.beyond', { n: this.#causes.beyond }));
  }
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
