import { expect, it } from 'vitest';
import { parseEventQuery } from '../../../src/front/history/event-query.js';
import { queryReader } from '../../../src/front/table/query-reader.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';

const makeJudge = () => {
  throw new Error('there are no bots');
};
const view = { epoch: 'e', names: new NameHasher('key'), nodes: undefined, makeJudge };
const events = queryReader('GET /api/events');
const stats = queryReader('GET /api/stats');
const parse = (name: string, value: string) =>
  parseEventQuery(events(`${name}=${encodeURIComponent(value)}`), view, null).request;
const before = (value: string) => stats(`before=${encodeURIComponent(value)}`).before;

it.each([
  ['1', 1],
  ['1000', 1000],
])('limit=%s', (value, limit) => {
  expect(parse('limit', value).limit).toBe(limit);
});

it.each(['', '0', '1001', '1e2', '0x10', ' 5', '+5', '5.0', '-1', '007'])(
  'limit=%j is none',
  (value) => {
    expect(() => parse('limit', value)).toThrow('limit must be a whole number from 1 to 1000');
  },
);

it.each([
  ['1795271840000', 1_795_271_840_000],
  ['2026-01-31', Date.UTC(2026, 0, 31)],
  ['2026-01-31T03:00Z', Date.UTC(2026, 0, 31, 3)],
  ['2026-01-31T03:00:07Z', Date.UTC(2026, 0, 31, 3, 0, 7)],
  ['2026-01-31T03:00:07.25+01:30', Date.UTC(2026, 0, 31, 1, 30, 7, 250)],
])('%s is a time', (value, ms) => {
  expect(parse('after', value).afterMs).toBe(ms);
  expect(before(value)).toBe(ms);
});

it.each([
  '2026-01-31T03:00:00',
  '2026-01-31 03:00',
  '2026-01-31T25:00Z',
  '2026-1-31',
  '2026-13-01',
  '2026-02-30',
  '2025-02-29T03:00Z',
  '2026-01-31T24:00Z',
  '',
])('%j is no time: whose it is would be a guess, or it is none', (value) => {
  expect(() => parse('after', value)).toThrow('with Z or an offset');
  expect(() => before(value)).toThrow('with Z or an offset');
});

it('a download is the whole range: a limit is refused', () => {
  expect(parse('format', 'ndjson')).toMatchObject({ limit: 1000, order: 'oldest' });
  const limited = events('format=ndjson&limit=100');
  expect(() => parseEventQuery(limited, view, null)).toThrow('a download has no limit');
});
