import { expect, it } from 'vitest';
import { queryReader } from '../../../src/front/table/query-reader.js';

const bots = queryReader('GET /api/bots');
const history = queryReader('GET /api/bots/{id}/history');
const incidents = queryReader('GET /api/incidents');

it('a list takes values with commas and repeated, each once, and none of it is empty', () => {
  expect(bots('kind=a,b&status=x&kind=,b,c,')).toEqual({ kind: ['a', 'b', 'c'], status: ['x'] });
  expect(bots('kind=')).toEqual({ kind: [] });
  expect(bots('')).toEqual({});
});

it('defaults are filled in, and times are Unix epoch milliseconds', () => {
  expect(incidents('')).toEqual({ limit: 100 });
  expect(history('field=status&after=1970-01-01T00:00:01Z&points=5')).toEqual({
    field: ['status'],
    after: 1000,
    points: 5,
  });
});

it.each([
  [history, '', 'field is missing, as in field=data.gold'],
  [history, 'field=', 'field is missing, as in field=data.gold'],
  [history, `field=${Array.from({ length: 11 }, (_, n) => n)}`, 'field has more than 10 values'],
  [history, 'field=a&node=h1', 'node must be self'],
  [incidents, 'cause=x', 'cause must have the form of 5d0c7c1b9a3f2e64'],
  [bots, `query=${'x'.repeat(2001)}`, 'query is longer than 2000 characters'],
  [queryReader('DELETE /api/nodes/{node}'), 'bots=keep', 'bots must be one of: move, delete'],
  [queryReader('GET /api/runs/{name}'), 'from=-1', 'from must be a whole number of at least 0'],
  [queryReader('POST /invoke'), 'x=1', 'unknown parameter "x"; this route takes none'],
])('%# %j is refused', (read, query, message) => {
  expect(() => read(query)).toThrow(message);
});
