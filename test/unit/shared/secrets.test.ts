// What a schema lets be read, for all the ways in which it can say that something is secret.

import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import {
  keepSecretsInLists,
  secretPaths,
  secretStrings,
  withoutSecrets,
} from '../../../src/shared/contract/secrets.js';

const secret: JsonObject = { type: 'string', writeOnly: true };
const account: JsonObject = { type: 'object', properties: { password: secret, name: {} } };
const config = (schema: JsonObject): JsonObject => ({ type: 'object', properties: { it: schema } });
// A literal with a `then` would look like a promise.
const conditional: JsonObject = Object.fromEntries([
  ['if', {}],
  ['then', account],
]);
const full = { name: 'n', password: 's' };

describe('is not shown', () => {
  it.each<[string, JsonObject, unknown, unknown]>([
    ['a value', secret, 's', undefined],
    ['a list', { type: 'array', writeOnly: true }, ['s'], undefined],
    ['an entry of a list', { items: secret }, ['s', 's'], []],
    ['a part of an entry', { items: account }, [full, full], [{ name: 'n' }, { name: 'n' }]],
    ['an entry of a list of lists', { items: { items: account } }, [[full]], [[{ name: 'n' }]]],
    ['an entry of a tuple', { prefixItems: [{}, secret] }, ['a', 's', 'b'], ['a', 'b']],
    ['an entry of an old tuple', { items: [{}, secret] }, ['a', 's'], ['a']],
    ['what follows a tuple', { items: [{}], additionalItems: secret }, ['a', 's'], ['a']],
    ['one of a union', { anyOf: [secret, { type: 'null' }] }, 's', undefined],
    ['a part of one of a union', { oneOf: [{}, account] }, full, { name: 'n' }],
    ['a part of a union in a list', { items: { anyOf: [{}, account] } }, [full], [{ name: 'n' }]],
    ['a part of an intersection', { allOf: [{}, account] }, full, { name: 'n' }],
    ['a part under a condition', conditional, full, { name: 'n' }],
    ['a part that depends', { dependentSchemas: { name: account } }, full, { name: 'n' }],
    ['a value of a record', { patternProperties: { '^p': secret } }, full, { name: 'n' }],
    [
      'additional properties',
      { properties: { name: {} }, additionalProperties: secret },
      full,
      { name: 'n' },
    ],
    ['what a reference points to', { $ref: '#/$defs/account' }, full, { name: 'n' }],
    ['what a name points to', { items: { $ref: 'account' } }, [full], [{ name: 'n' }]],
  ])('%s', (_, schema, value, shown) => {
    const root = { ...config(schema), $defs: { account } };
    const seen = withoutSecrets({ it: value } as JsonObject, root);
    expect(seen).toEqual(shown === undefined ? {} : { it: shown });
    expect(JSON.stringify(seen)).not.toContain('"s"');
  });

  it('in a schema that refers to itself', () => {
    const root: JsonObject = { properties: { password: secret, next: { $ref: '#' } }, $ref: '#' };
    const value = { password: 's', next: { password: 's', next: { name: 'n' } } };
    expect(withoutSecrets(value, root)).toEqual({ next: { next: { name: 'n' } } });
  });
});

it('what is no secret is shown as it is', () => {
  const value = { list: [1, null, [2, [3]], {}], nothing: null, deep: { a: [{ b: false }] } };
  expect(withoutSecrets(value, { type: 'object' })).toEqual(value);
});

it('is named by its path where it has a value', () => {
  const schema = {
    properties: {
      password: { writeOnly: true },
      proxy: { properties: { host: {}, key: { writeOnly: true } } },
      keys: { items: { writeOnly: true } },
      unset: { writeOnly: true },
    },
  };
  const config = { password: 'p', proxy: { host: 'h', key: 'k' }, keys: ['a'], unset: null };
  expect(secretPaths(config, schema)).toEqual(['password', 'proxy.key', 'keys.0']);
  expect(secretPaths({ proxy: { host: 'h' } }, schema)).toEqual([]);
  expect(secretPaths(config, { properties: {} })).toEqual([]);
});

describe('a changed list', () => {
  const before = { list: [full, { name: 'm', password: 't' }] };
  const views = [{ list: [{ name: 'n' }, { name: 'm' }] }];
  const kept = (list: unknown): unknown =>
    keepSecretsInLists({ list } as JsonObject, before, views);

  it.each<[string, unknown, unknown]>([
    ['the same as it is shown', views[0]?.list, before.list],
    ['in another order', [{ name: 'm' }, { name: 'n' }], [before.list[1], full]],
    ['shorter', [{ name: 'm' }], [before.list[1]]],
    ['with its own secret', [{ name: 'm', password: 'u' }], [{ name: 'm', password: 'u' }]],
    ['with an entry that nobody knows', [{ name: 'o' }], [{ name: 'o' }]],
    [
      'with an entry twice: the secret is one’s',
      [{ name: 'm' }, { name: 'm' }],
      [before.list[1], { name: 'm' }],
    ],
    ['none any more', 'text', 'text'],
  ])('%s', (_, list, expected) => {
    expect(kept(list)).toEqual({ list: expected });
  });
});

it('the secrets of a configuration are those that its schema marks, in any place of it', () => {
  const hidden: JsonObject = { $defs: { account }, ...config({ $ref: '#/$defs/account' }) };
  for (let n = 0; n < 2; n++) {
    expect(secretStrings({ it: full }, hidden)).toEqual(['s']);
    expect(secretStrings({ it: full }, config({ type: 'object' }))).toEqual([]);
    expect(secretStrings({ it: { password: 7 } }, config(account))).toEqual(['7']);
  }
});

it('finds the entries of lists of thousands without a comparison of each with each', () => {
  const entries = (from: number): JsonObject[] =>
    Array.from({ length: 20_000 }, (_, at) => ({ name: `${from + at}`, x: { a: 1, b: [at] } }));
  const before = entries(0).map((entry) => ({ ...entry, password: 'p' }));
  const view = { list: entries(0) };
  // Moved by one, with its keys in another order; the last one is new.
  const changed = entries(1).map(({ name, x }, at) => ({
    x: { b: [at + 1], a: (x as JsonObject)['a'] as number },
    name: name as string,
  }));
  const kept = keepSecretsInLists({ list: changed }, { list: before }, [view, view]) as {
    list: JsonObject[];
  };
  expect(kept.list.slice(0, -1)).toEqual(before.slice(1));
  expect(kept.list.at(-1)).not.toHaveProperty('password');
});
