// Reads a time range as people type it: "last 20 min", "14:02", "14:02 - 14:10", "yesterday 14:00", "since 14:02".

import { instantOf } from '../../../src/shared/query/instant.js';
import { t } from '../texts/text.js';
import type { TimeRange } from './range.js';
import { epochOf, type WallTime, wallTime } from './wall-time.js';

/** What is typed is about this time, in this zone. */
export interface Clock {
  nowMs: number;
  /** IANA name; '' is the browser's. */
  zone: string;
}

export type Parsed = { range: TimeRange } | { error: string };

const LENGTHS: readonly (readonly [pattern: RegExp, ms: number])[] = [
  [/^(s|sec|secs|second|seconds)$/, 1000],
  [/^(m|min|mins|minute|minutes)$/, 60_000],
  [/^(h|hr|hrs|hour|hours)$/, 3_600_000],
  [/^(d|day|days)$/, 86_400_000],
  [/^(w|week|weeks)$/, 7 * 86_400_000],
];
const DAY_MS = 86_400_000;
/** The longest, in ms: a thousand days. */
const MAX_LENGTH_MS = 1000 * DAY_MS;
/** What is shown on each side of a moment without seconds, and with them, in ms. */
const AROUND = { minute: 5 * 60_000, second: 60_000 };

const CLOCK = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3}))?)?$/;
const DATE = /^(?:(\d{4})-)?(\d{1,2})-(\d{1,2})$/;

/** A time with what was written of it. */
interface Moment {
  ms: number;
  /** The end of the named day, minute, second or millisecond. */
  endMs: number;
  /** `none`: it was written without a date. */
  date: 'none' | WallTime;
  isDay: boolean;
  aroundMs: number;
}

export function parseRange(text: string, clock: Clock): Parsed {
  const typed = text.trim().toLowerCase().replace(/\s+/g, ' ');
  if (typed === '' || typed === 'live' || typed === 'now') return live(undefined);
  const last = lengthIn(typed.replace(/^(?:the )?(?:last|past) /, ''));
  if (last !== undefined) return live({ agoMs: last });
  const ago = /^(.+) ago$/.exec(typed)?.[1];
  if (ago !== undefined) {
    const length = lengthIn(ago);
    return length === undefined ? unreadable(text) : around(clock.nowMs - length, AROUND.minute);
  }
  const since =
    /^(?:since|from) (.+)$/.exec(typed)?.[1] ?? /^(.+?) ?[-–—] ?(?:now)?$/.exec(typed)?.[1];
  if (since !== undefined && !/ to | - |–|—/.test(since)) return sinceOf(since, text, clock);
  const [first, second, ...more] = typed
    .replace(/^between (.+) and (.+)$/, '$1 to $2')
    .replace(/^from /, '')
    .split(/ to | until |\.\.\.?| ?[–—] ?| - |(?<=\d:\d\d(?::\d\d)?(?:\.\d+)?) ?- ?(?=\d)/);
  if (first === undefined || more.length > 0) return unreadable(text);
  if (second === undefined) return momentOf(first, text, clock);
  return betweenOf(first, second, text, clock);
}

function live(from: TimeRange['from']): Parsed {
  return { range: { from, toMs: undefined, momentMs: undefined } };
}

function around(momentMs: number, byMs: number): Parsed {
  return { range: { from: { ms: momentMs - byMs }, toMs: momentMs + byMs, momentMs } };
}

function unreadable(text: string): Parsed {
  return { error: t('range.noTime', { text: text.trim(), hint: t('range.hint') }) };
}

function sinceOf(since: string, text: string, clock: Clock): Parsed {
  const at = readMoment(since, clock);
  if (at === undefined) return unreadable(text);
  if (at.ms >= clock.nowMs) return { error: t('range.future', { time: since }) };
  return live({ ms: at.ms });
}

function momentOf(typed: string, text: string, clock: Clock): Parsed {
  const at = readMoment(typed, clock);
  if (at === undefined) return unreadable(text);
  if (at.ms > clock.nowMs) return { error: t('range.future', { time: typed }) };
  if (!at.isDay) return around(at.ms, at.aroundMs);
  // Of a day that is not over the end is now.
  if (at.endMs > clock.nowMs) return live({ ms: at.ms });
  return { range: { from: { ms: at.ms }, toMs: at.endMs, momentMs: undefined } };
}

function betweenOf(first: string, second: string, text: string, clock: Clock): Parsed {
  const isToNow = second === 'now';
  const begin = readMoment(first, clock);
  if (begin === undefined) return unreadable(text);
  if (isToNow) return sinceOf(first, text, clock);
  const end = readMoment(second, clock, begin.date === 'none' ? undefined : begin.date);
  if (end === undefined) return unreadable(text);
  let { ms: fromMs } = begin;
  let toMs = end.isDay ? end.endMs : end.ms;
  // Both of today's clock: the end may be after midnight, or both may be of yesterday.
  if (begin.date === 'none' && end.date === 'none' && fromMs >= toMs) fromMs -= DAY_MS;
  else if (begin.date !== 'none' && end.date === 'none' && fromMs >= toMs) toMs += DAY_MS;
  if (fromMs > clock.nowMs) return { error: t('range.future', { time: first }) };
  if (fromMs >= toMs) return { error: t('range.order') };
  return { range: { from: { ms: fromMs }, toMs, momentMs: undefined } };
}

/** `20 min`, `1h 30m`, `hour`: in ms. */
function lengthIn(typed: string): number | undefined {
  let rest = typed.replace(/^an? /, '1 ').replace(/ and /g, ' ');
  if (!/^\d/.test(rest)) rest = `1 ${rest}`;
  let sum = 0;
  while (rest !== '') {
    const [all, count, unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]+) ?/.exec(rest) ?? [];
    const ms = LENGTHS.find(([pattern]) => pattern.test(unit))?.[1];
    if (all === undefined || ms === undefined) return undefined;
    sum += Number(count) * ms;
    rest = rest.slice(all.length);
  }
  const length = Math.round(sum / 1000) * 1000;
  return length > 0 && length <= MAX_LENGTH_MS ? length : undefined;
}

/** @param day of a time without a date; otherwise it is the last such time that has come. */
function readMoment(typed: string, clock: Clock, day?: WallTime): Moment | undefined {
  return readEpoch(typed) ?? readIso(typed) ?? readWall(typed, clock, day);
}

/** Milliseconds, as events have them. */
function readEpoch(typed: string): Moment | undefined {
  if (!/^\d{12,14}$/.test(typed)) return undefined;
  return exact(Number(typed), AROUND.second);
}

/** With a zone. */
function readIso(typed: string): Moment | undefined {
  const text = typed.replace(' ', 'T');
  const ms = /t/i.test(text) ? instantOf(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : exact(ms, AROUND.second);
}

function exact(ms: number, aroundMs: number): Moment {
  // Its date is known.
  return { ms, endMs: ms + 1, date: wallTime(ms, 'UTC'), isDay: false, aroundMs };
}

function readWall(typed: string, clock: Clock, day: WallTime | undefined): Moment | undefined {
  const words = typed
    .replace(/(\d)t(\d)/, '$1 $2')
    .replace(/ at /, ' ')
    .split(' ');
  const [first = '', second] = words;
  if (words.length > 2) return undefined;
  const today = wallTime(clock.nowMs, clock.zone);
  const date = dateIn(first, today, clock);
  const timeText = date ? second : first;
  if (!date && second !== undefined) return undefined;
  if (timeText === undefined) {
    if (!date) return undefined;
    const ms = epochOf(midnight(date), clock.zone);
    const endMs = epochOf({ ...midnight(date), day: date.day + 1 }, clock.zone);
    return { ms, endMs, date, isDay: true, aroundMs: 0 };
  }
  const [, hour, minute, sec, fraction] = CLOCK.exec(timeText) ?? [];
  if (hour === undefined || minute === undefined) return undefined;
  const time = {
    hour: Number(hour),
    minute: Number(minute),
    second: Number(sec ?? 0),
    ms: Number((fraction ?? '').padEnd(3, '0')),
  };
  if (time.hour > 24 || time.minute > 59 || time.second > 59) return undefined;
  if (time.hour === 24 && time.minute + time.second + time.ms > 0) return undefined;
  const aroundMs = sec === undefined ? AROUND.minute : AROUND.second;
  const on = date ?? day;
  const ms = epochOf({ ...(on ?? today), ...time }, clock.zone);
  if (on) return { ms, endMs: ms, date: date ?? 'none', isDay: false, aroundMs };
  // The last such time that has come.
  const past =
    ms <= clock.nowMs ? ms : epochOf({ ...today, day: today.day - 1, ...time }, clock.zone);
  return { ms: past, endMs: past, date: 'none', isDay: false, aroundMs };
}

function dateIn(word: string, today: WallTime, { nowMs, zone }: Clock): WallTime | undefined {
  if (word === 'today') return midnight(today);
  if (word === 'yesterday') {
    const noon = epochOf({ ...midnight(today), hour: 12, day: today.day - 1 }, zone);
    return midnight(wallTime(noon, zone));
  }
  const [, year, month, day] = DATE.exec(word) ?? [];
  if (month === undefined || day === undefined) return undefined;
  const found = { ...midnight(today), month: Number(month), day: Number(day) };
  if (year !== undefined) found.year = Number(year);
  const isReal =
    new Date(Date.UTC(found.year, found.month - 1, found.day)).getUTCDate() === found.day;
  if (found.month < 1 || found.month > 12 || found.day < 1 || !isReal) return undefined;
  // Without a year it is the last such day that has come.
  if (year === undefined && epochOf(found, zone) > nowMs) found.year -= 1;
  return found;
}

function midnight(wall: WallTime): WallTime {
  return { ...wall, hour: 0, minute: 0, second: 0, ms: 0 };
}
