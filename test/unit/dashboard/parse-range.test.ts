import { describe, expect, it } from 'vitest';
import { parseRange } from '../../../dashboard/src/range/parse-range.js';
import { epochOf, wallTime } from '../../../dashboard/src/range/wall-time.js';

/** 24 November 2026, 15:30:10 in Berlin. */
const NOW = Date.parse('2026-11-24T14:30:10Z');
const clock = { nowMs: NOW, zone: 'Europe/Berlin' };
const MINUTE = 60_000;

function read(text: string, at = clock): string {
  const parsed = parseRange(text, at);
  if ('error' in parsed) return parsed.error;
  const { from, toMs, momentMs } = parsed.range;
  const show = (ms: number): string => new Date(ms).toISOString().replace(/(:00)?\.000Z$/, 'Z');
  const begin = from === undefined ? '…' : 'ms' in from ? show(from.ms) : `-${from.agoMs / 1000}s`;
  const end = toMs === undefined ? 'live' : show(toMs);
  return `${begin} ${end}${momentMs === undefined ? '' : ` at ${show(momentMs)}`}`;
}

describe('a typed range', () => {
  it.each([
    ['', '… live'],
    ['live', '… live'],
    ['last 20 min', '-1200s live'],
    ['Last 20 Minutes', '-1200s live'],
    ['20m', '-1200s live'],
    ['past 2 hours', '-7200s live'],
    ['last hour', '-3600s live'],
    ['1h 30m', '-5400s live'],
    ['last 1.5 h', '-5400s live'],
    ['last week', '-604800s live'],
    ['last an hour', '-3600s live'],
  ])('%j ends now', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    ['14:02', '2026-11-24T12:57Z 2026-11-24T13:07Z at 2026-11-24T13:02Z'],
    ['9:05', '2026-11-24T08:00Z 2026-11-24T08:10Z at 2026-11-24T08:05Z'],
    // Later than now: of yesterday.
    ['23:10', '2026-11-23T22:05Z 2026-11-23T22:15Z at 2026-11-23T22:10Z'],
    ['14:02:30', '2026-11-24T13:01:30Z 2026-11-24T13:03:30Z at 2026-11-24T13:02:30Z'],
    ['yesterday 14:00', '2026-11-23T12:55Z 2026-11-23T13:05Z at 2026-11-23T13:00Z'],
    ['yesterday at 14:00', '2026-11-23T12:55Z 2026-11-23T13:05Z at 2026-11-23T13:00Z'],
    ['2026-11-20 14:02', '2026-11-20T12:57Z 2026-11-20T13:07Z at 2026-11-20T13:02Z'],
    ['11-20 14:02', '2026-11-20T12:57Z 2026-11-20T13:07Z at 2026-11-20T13:02Z'],
    // Of last year: this one has not come.
    ['12-20 14:02', '2025-12-20T12:57Z 2025-12-20T13:07Z at 2025-12-20T13:02Z'],
    ['2026-11-24T13:02:00Z', '2026-11-24T13:01Z 2026-11-24T13:03Z at 2026-11-24T13:02Z'],
    ['2026-11-24 14:02+01:00', '2026-11-24T13:01Z 2026-11-24T13:03Z at 2026-11-24T13:02Z'],
    [`${NOW - 10_000}`, '2026-11-24T14:29Z 2026-11-24T14:31Z at 2026-11-24T14:30Z'],
    ['20 min ago', '2026-11-24T14:05:10Z 2026-11-24T14:15:10Z at 2026-11-24T14:10:10Z'],
  ])('%j is a moment', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    ['14:02 - 14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    ['14:02-14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    ['14:02 – 14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    ['14:02 to 14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    ['between 14:02 and 14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    ['from 14:02 to 14:10', '2026-11-24T13:02Z 2026-11-24T13:10Z'],
    // Over midnight.
    ['23:50 - 0:10', '2026-11-23T22:50Z 2026-11-23T23:10Z'],
    ['yesterday 23:50 - 0:10', '2026-11-23T22:50Z 2026-11-23T23:10Z'],
    ['yesterday 14:00 - 15:00', '2026-11-23T13:00Z 2026-11-23T14:00Z'],
    ['yesterday 23:50 - today 0:10', '2026-11-23T22:50Z 2026-11-23T23:10Z'],
    ['yesterday', '2026-11-22T23:00Z 2026-11-23T23:00Z'],
    ['2026-11-20', '2026-11-19T23:00Z 2026-11-20T23:00Z'],
    ['2026-11-20 - 2026-11-21', '2026-11-19T23:00Z 2026-11-21T23:00Z'],
  ])('%j has two ends', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    ['since 14:02', '2026-11-24T13:02Z live'],
    ['from 14:02', '2026-11-24T13:02Z live'],
    ['14:02 -', '2026-11-24T13:02Z live'],
    ['14:02 - now', '2026-11-24T13:02Z live'],
    ['since yesterday', '2026-11-22T23:00Z live'],
    ['today', '2026-11-23T23:00Z live'],
  ])('%j begins at a time', (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each([
    'noon',
    '25:00',
    '14:61',
    '14:02 - noon',
    'last 5 parsecs',
    'last 0 min',
    'last 9999 days',
    '2026-02-30 10:00',
    '2026-02-30T10:00Z',
    '2026-11-20 24:00Z',
    '14:02 - 14:10 - 14:20',
    'last noon ago',
  ])('%j is refused with an example', (text) => {
    expect(read(text)).toBe(
      `“${text}” is not a time: use for example “last 20 min”, “14:02”, “14:02 - 14:10” or “yesterday 14:00”`,
    );
  });

  it('says what is wrong with a time that it can read', () => {
    expect(read('2026-12-24 10:00')).toBe('2026-12-24 10:00 is in the future');
    expect(read('2026-11-20 14:10 - 2026-11-20 14:02')).toBe('the end must be after the start');
    expect(read('since 2026-12-24')).toBe('2026-12-24 is in the future');
  });
});

describe('a time on the wall', () => {
  it.each(['Europe/Berlin', 'America/St_Johns', 'Asia/Kolkata', 'UTC'])(
    'is found in %s',
    (zone) => {
      for (let ms = NOW - 400 * 1440 * MINUTE; ms < NOW; ms += 7 * 1440 * MINUTE + 12_345_678) {
        expect(epochOf(wallTime(ms, zone), zone)).toBe(ms);
      }
    },
  );

  it('is the first of two, and continues where one is left out', () => {
    const at = (hour: number, month: number, day: number): string =>
      new Date(
        epochOf({ year: 2026, month, day, hour, minute: 30, second: 0, ms: 0 }, 'Europe/Berlin'),
      ).toISOString();
    expect(at(2, 10, 25)).toBe('2026-10-25T00:30:00.000Z');
    expect(at(2, 3, 29)).toBe('2026-03-29T01:30:00.000Z');
  });
});
