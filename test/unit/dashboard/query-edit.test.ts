// What clicks do to a query, and what is offered while one types.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkedQuery } from '../../../dashboard/src/query/checked-query.js';
import { complete, type Offers } from '../../../dashboard/src/query/complete-query.js';
import {
  hasValue,
  inverted,
  type Picked,
  picked,
  removed,
} from '../../../dashboard/src/query/edit-query.js';
import { parseQuery, parseTerms } from '../../../src/shared/query/parse-query.js';

const status = (value: string, isNot = false): Picked => ({ field: 'status', value, isNot });
const label = (value: string, isNot = false): Picked => ({ field: 'label', value, isNot });

describe('a click', () => {
  it.each<[string, Picked, string]>([
    ['', status('failed'), 'status:failed'],
    ['status:failed', status('backoff'), 'status:failed,backoff'],
    ['status:failed,backoff', status('failed'), 'status:backoff'],
    ['a status:failed b', status('failed'), 'a b'],
    ['', status('failed', true), '-status:failed'],
    ['-status:failed', status('stopped', true), '-status:failed,stopped'],
    // The opposite takes its place.
    ['status:failed', status('failed', true), '-status:failed'],
    ['-status:failed,stopped', status('failed'), '-status:stopped status:failed'],
    ['status:fail*', status('failed'), 'status:fail*,failed'],
    ['', label('zone=eu west'), 'label:zone="eu west"'],
    // Labels of one name are alternatives, others are required together.
    ['label:team=a', label('team=b'), 'label:team=a,team=b'],
    ['label:team=a', label('zone=x'), 'label:team=a label:zone=x'],
    ['host:*', { field: 'kind', value: 'a*b', isNot: false }, 'host:* kind:a"*"b'],
  ])('%s and %j make %s', (text, what, expected) => {
    expect(parseQuery(picked(text, 'bots', what), 'bots')).toEqual(parseQuery(expected, 'bots'));
  });

  it('twice leaves the query as it was, for any value', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 8 }), fc.boolean(), (value, isNot) => {
        const what = { field: 'kind', value, isNot } as const;
        const once = picked('host:0 x', 'bots', what);
        expect(hasValue(once, 'bots', what)).toBe(true);
        expect(picked(once, 'bots', what)).toBe('host:0 x');
      }),
    );
  });

  it('on a chip removes or inverts its term', () => {
    const text = 'a  -kind:"x y" b';
    const [, { place } = { place: { from: 0, to: 0 } }] = parseTerms(text, 'bots');
    expect(removed(text, place)).toBe('a b');
    expect(inverted(text, place)).toBe('a  kind:"x y" b');
    expect(inverted('a b', { from: 2, to: 3 })).toBe('a -b');
  });
});

describe('completion', () => {
  const offers: Offers = (field, path) => {
    if (field === 'status') return ['failed', 'in_world', 'stopped'];
    if (field === 'label') return ['team=a', 'zone=eu west'];
    if (field === 'data') return path === '' ? ['gold', 'map'] : ['castle'];
    if (field === 'bot') return ['demo-1', 'shop-1'];
    return [];
  };
  const at = (text: string, use: 'bots' | 'lines' = 'bots') => {
    const cursor = text.includes('|') ? text.indexOf('|') : text.length;
    const plain = text.replace('|', '');
    const { from, to, items } = complete(plain, cursor, use, offers);
    return items.map(({ insert }) => `${plain.slice(0, from)}${insert}${plain.slice(to)}`);
  };

  it.each([
    ['sta', ['status:']],
    ['-sta', ['-status:']],
    ['a kin', ['a kind:']],
    ['status:', ['status:failed', 'status:in_world', 'status:stopped']],
    ['-status:st', ['-status:stopped']],
    ['status:failed,in', ['status:failed,in_world']],
    ['status:fa|x b', ['status:failed b']],
    ['label:z', ['label:zone="eu west"']],
    ['data.', ['data.gold', 'data.map']],
    ['data.map:', ['data.map:castle']],
    // A value without its field.
    ['faile', ['status:failed']],
    ['shop', ['bot:shop-1']],
    ['"sta', []],
    ['/sta', []],
    ['nothing:', []],
  ])('%s: %j', (text, expected) => {
    expect(at(text)).toEqual(expected);
  });

  it('offers the fields of the view', () => {
    expect(at('', 'lines')).toContain('level:');
    expect(at('')).not.toContain('level:');
    expect(at('s', 'lines')).not.toContain('since>');
  });

  it('what is offered can be read', () => {
    for (const text of ['status:', 'label:', 'bot:', 'data.map:']) {
      for (const whole of at(text)) expect(parseQuery(whole, 'bots')).toHaveLength(1);
    }
  });
});

it('a link with an expression that is huge when it is written out shows an error', () => {
  const { terms, error } = checkedQuery('/(((((){128}){128}){128}){128})/', 'bots');
  expect(terms).toEqual([]);
  expect(error).toContain('it has more than 4096 parts');
});
