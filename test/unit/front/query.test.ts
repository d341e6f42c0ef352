// Run by vitest. Raw query strings.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { queryPairs, queryValue } from '../../../src/front/http/query-string.js';

const text = fc.string({ unit: 'binary' });

it('queryValue is the value of a name, and none without it', () => {
  const pairs = queryPairs('a=1&%62=3&c');
  expect(['a', 'b', 'c', 'd'].map((name) => queryValue(pairs, name))).toEqual([
    '1',
    '3',
    '',
    undefined,
  ]);
});

describe('queryPairs', () => {
  it('reads back what was percent-encoded', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(text, text)), (pairs) => {
        const query = pairs
          .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
          .join('&');
        expect(queryPairs(query)).toEqual(pairs);
      }),
    );
  });

  it('leaves a plus and a slash as they are, and takes the first = for the separator', () => {
    expect(queryPairs('token=a+b/c==&x&=y&&z=')).toEqual([
      ['token', 'a+b/c=='],
      ['x', ''],
      ['', 'y'],
      ['z', ''],
    ]);
    expect(queryPairs('q=of+run&query=kind:demo+a%2Bb&token=a+b')).toEqual([
      ['q', 'of run'],
      ['query', 'kind:demo a+b'],
      ['token', 'a+b'],
    ]);
    expect(queryPairs('')).toEqual([]);
  });

  it('leaves broken percent-encoding as it is', () => {
    expect(queryPairs('a=%&b=%zz&c=%ff&d=%e4%b8&e=%41')).toEqual([
      ['a', '%'],
      ['b', '%zz'],
      ['c', '%ff'],
      ['d', '%e4%b8'],
      ['e', 'A'],
    ]);
  });

  it('never throws, and finds as many pairs as there are parts', () => {
    fc.assert(
      fc.property(fc.oneof(text, fc.stringMatching(/^[%&=a-f0-9+;]*$/)), (query) => {
        const parts = query.split('&').filter((part) => part !== '');
        expect(queryPairs(query)).toHaveLength(parts.length);
      }),
    );
  });
});
