// What the dashboard's forms make of JSON Schemas, and of the service's one-line errors.

import { describe, expect, it } from 'vitest';
import {
  changesBetween,
  type Faults,
  faultsOf,
  fieldFor,
  filled,
  initialOf,
  type Schema,
  withoutSecrets,
} from '../../../dashboard/src/parts/schema.js';
import { faultFrom } from '../../../dashboard/src/views/faults.js';
import type { JsonObject } from '../../../src/client/index.js';

const schema: Schema = {
  type: 'object',
  required: ['name', 'size', 'place'],
  properties: {
    name: { type: 'string' },
    size: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    place: { type: 'object', required: ['x'], properties: { x: { type: 'number' } } },
    login: { type: 'object', required: ['user'], properties: { user: { type: 'string' } } },
  },
};

it.each<[Schema, string]>([
  [{ type: 'string' }, 'text'],
  [{ type: 'string', enum: ['a'] }, 'choice'],
  [{ anyOf: [{ const: 1 }, { const: 2 }] }, 'choice'],
  [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 'json'],
  [{ type: 'integer' }, 'number'],
  [{ type: 'boolean' }, 'switch'],
  [{ type: 'array', items: { type: 'string' } }, 'lines'],
  [{ type: 'array', items: { type: 'object', properties: {} } }, 'list'],
  [{ type: 'array', items: { type: 'integer' } }, 'list'],
  [{ type: 'array' }, 'json'],
  [{ type: 'object', patternProperties: { '^.*$': { type: 'integer' } } }, 'record'],
  [{ type: 'object', additionalProperties: { type: 'string' } }, 'record'],
  [{ type: 'object', properties: {} }, 'group'],
  [{ type: 'object' }, 'json'],
  [{}, 'json'],
])('%j has the field %s', (given, type) => {
  expect(fieldFor(given).type).toBe(type);
});

describe('a form', () => {
  it('begins with the defaults, and with groups that must be there', () => {
    expect(initialOf(schema)).toEqual({ size: 3, place: {} });
  });

  it('says what is missing or out of range, by path', () => {
    const faults = faultsOf(schema, { size: 10, place: { x: Number.NaN } }, 'config');
    expect([...faults].map(([at, fault]) => [at, fault])).toEqual([
      ['config.name', 'is required'],
      ['config.size', 'is more than 9'],
      ['config.place.x', 'is not a number'],
    ]);
    expect(faultsOf(schema, { name: 'n', place: { x: 1 } }, 'config').size).toBe(0);
    const route: Schema = {
      type: 'object',
      required: ['to'],
      properties: { to: { type: 'string' } },
    };
    const routed: Schema = {
      type: 'object',
      properties: {
        routes: { type: 'array', items: route },
        named: { type: 'object', additionalProperties: route },
      },
    };
    const given: JsonObject = { routes: [{ to: 'a' }, {}], named: { home: {} } };
    expect([...faultsOf(routed, given, 'config').keys()]).toEqual([
      'config.routes[1].to',
      'config.named.home.to',
    ]);
    expect([
      ...faultFrom(new Error('config.routes[1].to is missing'), { config: routed }).keys(),
      ...faultFrom(new Error('config.named.home.to is missing'), { config: routed }).keys(),
    ]).toEqual(['config.routes[1].to', 'config.named.home.to']);
    expect([
      ...faultsOf(schema, { name: 'n', place: { x: 1 }, size: 1.5, login: {} }, 'c').keys(),
    ]).toEqual(['c.size', 'c.login.user']);
  });

  it('sends what was filled in, and of a change what differs', () => {
    expect(filled({ a: '', b: 0, c: false, d: { e: '' }, f: [] })).toEqual({
      b: 0,
      c: false,
      d: {},
      f: [],
    });
    expect(
      changesBetween({ a: 1, b: 2, c: { d: 1, e: 2 } }, { a: 1, c: { d: 5, e: 2 }, f: [1] }),
    ).toEqual({
      b: null,
      c: { d: 5 },
      f: [1],
    });
  });
});

it('shows of what was sent no secret, however deep', () => {
  const secret: Schema = { type: 'string', writeOnly: true };
  const login: Schema = { type: 'object', properties: { user: { type: 'string' }, secret } };
  expect(
    withoutSecrets(
      { type: 'object', properties: { secret, login, to: { type: 'string' } } },
      { secret: 's3cret', login: { user: 'u', secret: 's3cret' }, to: 'x', more: [1] },
    ),
  ).toEqual({ secret: '•••', login: { user: 'u', secret: '•••' }, to: 'x', more: [1] });
});

describe('an error of the service', () => {
  it('is shown beside the field that it names', () => {
    const forms = {
      config: {
        type: 'object',
        properties: {
          place: { type: 'object', properties: { x: { type: 'number' } } },
          words: { type: 'array' },
        },
      },
    } as const;
    const said = (faults: Faults) => [...faults].map(([at, fault]) => [at, fault]);
    const found = (text: string) => said(faultFrom(new Error(text), forms));
    expect(found('config.place.x is missing')).toEqual([['config.place.x', 'is missing']]);
    expect(found('config.place is odd')).toEqual([['config.place', 'is odd']]);
    // An error without its own field is shown at the enclosing field, or for the whole form.
    expect(found('config.words[0] must be short')).toEqual([['config.words', '[0] must be short']]);
    for (const text of ['config.other is not known', 'args.x is missing', 'config is odd']) {
      expect(found(text)).toEqual([['', text]]);
    }
    for (const text of ['bot x exists already', 'the id x cannot be used', 'id must be longer']) {
      expect([...faultFrom(new Error(text), forms).keys()]).toEqual(['id']);
    }
    expect(faultFrom(new Error('id must be longer'), forms).get('id')).toBe('must be longer');
    expect(found('body.id must be longer')).toEqual([['id', 'must be longer']]);
    const restart: Schema = { properties: { policy: { type: 'string' } } };
    expect(said(faultFrom(new Error('body.restart.policy is odd'), { restart }))).toEqual([
      ['restart.policy', 'is odd'],
    ]);
    expect(said(faultFrom('odd', forms))).toEqual([['', 'odd']]);
  });
});
