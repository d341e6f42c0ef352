// A time range, and how it is written in an address: `from`, `to`, and `t`, the moment in it.

import { instantOf } from '../../../src/shared/query/instant.js';

export interface TimeRange {
  /** Its beginning; `agoMs`: that long before now. Undefined: the whole past. */
  from: { ms: number } | { agoMs: number } | undefined;
  /** Its end, exclusive; undefined while it is live. Unix epoch ms, as all times here. */
  toMs: number | undefined;
  /** The moment that the herd shows and the log opens at; undefined: its end. Never set while it is live. */
  momentMs: number | undefined;
}

/** The range in times. Undefined: the whole past; now. */
export interface Bounds {
  fromMs: number | undefined;
  toMs: number | undefined;
}

export const LIVE: TimeRange = { from: undefined, toMs: undefined, momentMs: undefined };
const UNITS: Readonly<Record<string, number>> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};
/** Times that `Date` can have. */
const MAX_MS = 8.64e15;

export function rangeIn(query: URLSearchParams): TimeRange {
  const toMs = timeIn(query.get('to'));
  const from = startIn(query.get('from'));
  // A length before now and a fixed end do not make a range.
  if (toMs === undefined || (from && 'agoMs' in from)) return from ? { ...LIVE, from } : LIVE;
  if (from && from.ms >= toMs) return LIVE;
  const at = timeIn(query.get('t'));
  const isWithin = at !== undefined && at <= toMs && at >= (from?.ms ?? at);
  return { from, toMs, momentMs: isWithin ? at : undefined };
}

/** The parameters of an address that has this range. */
export function rangeParameters({ from, toMs, momentMs }: TimeRange): Record<string, string> {
  return {
    from: from === undefined ? '' : 'ms' in from ? timeText(from.ms) : lengthText(from.agoMs),
    to: toMs === undefined ? '' : timeText(toMs),
    t: momentMs === undefined ? '' : timeText(momentMs),
  };
}

/** The range in times. */
export function boundsOf({ from, toMs }: TimeRange, nowMs: number): Bounds {
  const fromMs = from && ('ms' in from ? from.ms : nowMs - from.agoMs);
  return { fromMs, toMs };
}

/** `2026-11-24T14:02:00Z`. */
function timeText(ms: number): string {
  return new Date(Math.round(ms)).toISOString().replace('.000Z', 'Z');
}

/** `-20m`. */
function lengthText(ms: number): string {
  const unit = Object.entries(UNITS).findLast(([, of]) => ms % of === 0);
  return unit ? `-${ms / unit[1]}${unit[0]}` : `-${Math.ceil(ms / 1000)}s`;
}

function startIn(text: string | null): TimeRange['from'] {
  const [, count, unit] = /^-([1-9]\d{0,6})([smhd])$/.exec(text ?? '') ?? [];
  if (count !== undefined && unit !== undefined)
    return { agoMs: Number(count) * (UNITS[unit] ?? 0) };
  const ms = timeIn(text);
  return ms === undefined ? undefined : { ms };
}

function timeIn(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : instantOf(text);
  return Number.isNaN(ms) || ms > MAX_MS ? undefined : ms;
}
