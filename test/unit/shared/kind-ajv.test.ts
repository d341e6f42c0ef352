// Schemas of kinds, and values that would take minutes to check: each of these ends, and the value is refused.

import { expect, it } from 'vitest';
import { checkedCopy } from '../../../src/shared/contract/command-args.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { kindAjv } from '../../../src/shared/kind-ajv.js';

const check = (schema: object, value: JsonObject): (() => JsonObject) => {
  const validate = kindAjv()().compile(schema);
  return () => checkedCopy(validate, 'config', value);
};
const ofText = (rules: object) => ({
  type: 'object',
  properties: { a: { type: 'string', ...rules }, b: { default: 1 } },
});
const LONG = `${'a'.repeat(50_000)}!`;
const TOO_LONG = 'this value takes more than 100 ms to check against the schema of its kind';

it.each(['^(\\w+\\s?)*$', '^(a|a)*$', '^([a-z]+)+\\d$'])(
  'the pattern %s is matched in one pass',
  (pattern) => {
    expect(check(ofText({ pattern }), { a: LONG })).toThrow(`must match pattern "${pattern}"`);
    const key = { type: 'object', patternProperties: { [pattern]: { type: 'number' } } };
    expect(check(key, { [LONG]: 'x' })()).toEqual({ [LONG]: 'x' });
  },
);

const tree = {
  $id: 'tree',
  oneOf: ['and', 'or', 'not'].map((type) => ({
    type: 'object',
    required: ['type'],
    properties: { type: { const: type }, of: { $ref: 'tree' } },
  })),
};
let deep: JsonObject = { type: 'other' };
for (let depth = 0; depth < 30; depth++) deep = { type: 'and', of: deep };

it.each([
  ['a pattern that is left to RegExp', ofText({ pattern: '^(?!x)(\\w+\\s?)*$' }), { a: LONG }],
  ['the format url', ofText({ format: 'url' }), { a: `http://${'::'.repeat(25_000)}\u0001` }],
  ['a recursion that tries all ways', tree, deep],
  [
    'items that are compared each with each',
    { type: 'object', properties: { a: { uniqueItems: true } } },
    { a: Array.from({ length: 15_000 }, (_, at) => [at]) },
  ],
])('%s ends', (_, schema, value) => {
  expect(check(schema, value)).toThrow(TOO_LONG);
});

it('what is checked in time is as it was: defaults, and errors in words', () => {
  const guarded = ofText({ pattern: '^(?!self$)[a-z]+$' });
  expect(check(guarded, { a: 'other' })()).toEqual({ a: 'other', b: 1 });
  expect(check(guarded, { a: 'self' })).toThrow('config.a must match pattern "^(?!self$)[a-z]+$"');
  expect(check(tree, { type: 'and', of: { type: 'not' } })()).toBeTruthy();
  expect(() => check(ofText({ pattern: 'a(' }), {})).toThrow(SyntaxError);
});
