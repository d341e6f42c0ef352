// Puts the lines of several logs on one time axis. Pure.

import type { Line } from '../hub/messages.js';

/** Lines of different logs that are at most this far apart can share a row, in ms. */
const SLOT_MS = 100;

/** What is loaded of one log. */
export interface Loaded {
  /** Oldest first. */
  lines: readonly Line[];
  /** Nothing is before them, or it cannot be loaded. */
  isWholeBefore: boolean;
  /** Nothing is after them. */
  isWholeAfter: boolean;
}

/** The times between which all logs are loaded, both inclusive. */
export interface Common {
  fromMs: number;
  toMs: number;
}

export interface Row {
  /** The same for the same lines, also when more is loaded before and after them. */
  key: string;
  /** Of its first line. */
  at: number;
  /** By log. */
  cells: (Line | undefined)[];
}

export function commonOf(logs: readonly Loaded[]): Common {
  let fromMs = Number.NEGATIVE_INFINITY;
  let toMs = Number.POSITIVE_INFINITY;
  for (const { lines, isWholeBefore, isWholeAfter } of logs) {
    if (!isWholeBefore) fromMs = Math.max(fromMs, lines[0]?.at ?? Number.POSITIVE_INFINITY);
    if (!isWholeAfter) toMs = Math.min(toMs, lines.at(-1)?.at ?? Number.NEGATIVE_INFINITY);
  }
  return { fromMs, toMs };
}

/** Whether this log prevents the others from showing more of the past. */
export function limitsBefore({ lines, isWholeBefore }: Loaded, { fromMs }: Common): boolean {
  return !isWholeBefore && (lines[0]?.at ?? Number.POSITIVE_INFINITY) >= fromMs;
}

export function limitsAfter({ lines, isWholeAfter }: Loaded, { toMs }: Common): boolean {
  return !isWholeAfter && (lines.at(-1)?.at ?? Number.NEGATIVE_INFINITY) <= toMs;
}

/**
 * Rows in which every line is before those of the rows below it. Lines of different logs share a row when they follow each other
 * within a short time.
 */
export function align(logs: readonly (readonly Line[])[], { fromMs, toMs }: Common): Row[] {
  const rows: Row[] = [];
  const at = logs.map((lines) => firstFrom(lines, fromMs));
  let row: Row | undefined;
  let slot = Number.NEGATIVE_INFINITY;
  let inSlot = 0;
  for (;;) {
    let next = -1;
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [log, lines] of logs.entries()) {
      const ms = lines[at[log] ?? 0]?.at;
      if (ms !== undefined && ms < nextMs) [next, nextMs] = [log, ms];
    }
    const line = next < 0 ? undefined : logs[next]?.[at[next] ?? 0];
    if (!line || nextMs > toMs) return rows;
    at[next] = (at[next] ?? 0) + 1;
    const lineSlot = Math.max(slot, Math.floor(line.at / SLOT_MS));
    if (lineSlot !== slot) {
      slot = lineSlot;
      inSlot = 0;
      row = undefined;
    }
    if (!row || row.cells[next]) {
      row = { key: `${slot}:${inSlot++}`, at: line.at, cells: logs.map(() => undefined) };
      rows.push(row);
    }
    row.cells[next] = line;
  }
}

/** Lines are nearly in the order of their times: the first that is not before. */
function firstFrom(lines: readonly Line[], ms: number): number {
  const found = lines.findIndex((line) => line.at >= ms);
  return found < 0 ? lines.length : found;
}

/**
 * The number of the first row, so that a row that stays keeps its number.
 * @param before the rows that were shown, and the number of their first.
 */
export function baseOf(
  rows: readonly Row[],
  before: { rows: readonly Row[]; base: number },
): number {
  for (const [at, kept] of [before.rows[0], before.rows.at(-1)].entries()) {
    if (!kept) continue;
    const number = at === 0 ? before.base : before.base + before.rows.length - 1;
    const index = rows.findIndex(({ key }) => key === kept.key);
    if (index >= 0) return number - index;
  }
  return 0;
}
