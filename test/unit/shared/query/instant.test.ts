import fc from 'fast-check';
import { expect, it } from 'vitest';
import { instantOf } from '../../../../src/shared/query/instant.js';

it.each([
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['2024-02-29', Date.UTC(2024, 1, 29)],
  ['2000-02-29', Date.UTC(2000, 1, 29)],
  ['2026-01-31T03:00Z', Date.UTC(2026, 0, 31, 3)],
  ['2026-01-31t23:59:59z', Date.UTC(2026, 0, 31, 23, 59, 59)],
  ['2026-01-31T03:00:07.25+01:30', Date.UTC(2026, 0, 31, 1, 30, 7, 250)],
])('%s is a time', (text, ms) => {
  expect(instantOf(text)).toBe(ms);
});

it.each([
  '2026-02-30',
  '2026-02-30T03:00Z',
  '2025-02-29',
  '1900-02-29',
  '2026-04-31T00:00:00+02:00',
  '2026-00-10',
  '2026-13-01',
  '2026-01-00',
  '2026-01-31T25:00Z',
  '2026-01-31T24:00Z',
  '2026-01-31T03:60Z',
  '2026-01-31T03:00:60Z',
  '2026-01-31T03:00+24:00',
  '2026-01-31T03:00+01:60',
  '2026-01-31T03:00',
  '2026-01-31T03:00Z ',
  '2026-01-31 03:00Z',
  '2026-1-31',
  '31 Jan 2026',
  '+002026-01-31',
  '',
])('%j is none', (text) => {
  expect(instantOf(text)).toBeNaN();
});

it('reads what Date writes', () => {
  const dates = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(dates, (date) => {
      expect(instantOf(date.toISOString())).toBe(date.getTime());
    }),
  );
});
