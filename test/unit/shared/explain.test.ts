// What a client or an operator reads of a value that does not fit its schema.

import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { CreateBotBody } from '../../../src/shared/contract/bots.js';
import { explainSchemaError } from '../../../src/shared/contract/explain.js';

const ajv = new Ajv({ allowUnionTypes: true });
const thorough = new Ajv({ allowUnionTypes: true, allErrors: true });

function explain(schema: object, value: unknown, what = 'body', by = ajv): string {
  const validate = by.compile(schema);
  expect(validate(value)).toBe(false);
  return explainSchemaError(what, validate.errors);
}

const literals = { anyOf: [{ const: 'always' }, { const: 'never' }, { const: 3 }] };
const text = { anyOf: [{ type: 'string', minLength: 2 }, { type: 'null' }] };
const nested = {
  anyOf: [
    { type: 'null' },
    { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  ],
};

describe('a value that does not fit', () => {
  it.each([
    [literals, 'no', 'body must be one of always, never, 3'],
    [{ enum: ['a', 'b'] }, 'c', 'body must be one of a, b'],
    [{ const: 'a' }, 'b', 'body must be a'],
    [text, 5, 'body must be string or null'],
    [text, 'x', 'body must have 2 characters at least'],
    [{ minLength: 1 }, '', 'body must not be empty'],
    [{ maxLength: 1 }, 'ab', 'body must have 1 character at most'],
    [{ minItems: 1 }, [], 'body must not be empty'],
    [{ minItems: 2 }, [1], 'body must have 2 items at least'],
    [{ maxItems: 2 }, [1, 2, 3], 'body must have 2 items at most'],
    [{ uniqueItems: true }, [1, 2, 1], 'body must not have an item twice'],
    [{ minProperties: 1 }, {}, 'body must not be empty'],
    [{ maxProperties: 1 }, { a: 1, b: 2 }, 'body must have 1 key at most'],
    [{ minimum: 1 }, 0, 'body must be >= 1'],
    [
      { properties: { labels: { propertyNames: { maxLength: 2 } } } },
      { labels: { 'a b': '' } },
      'body.labels has the key "a b", which must have 2 characters at most',
    ],
    [nested, { n: 'x' }, 'body.n must be integer'],
    [nested, {}, 'body.n is missing'],
    [nested, 'x', 'body must be null or object'],
    [
      { anyOf: [{ required: ['ids'] }, { required: ['labels'] }] },
      {},
      'body.ids or body.labels is missing',
    ],
    [{ anyOf: [literals, { type: 'null' }] }, 'no', 'body must be always or never or 3 or null'],
    [
      { oneOf: [{ type: 'integer' }, { minimum: 0 }] },
      1,
      'body must match exactly one schema in oneOf',
    ],
    [{ type: ['string', 'integer'] }, null, 'body must be string or integer'],
    [{ type: 'object', additionalProperties: false }, { x: 1 }, 'unknown key body.x'],
  ])('%j refuses %j: %s', (schema, value, message) => {
    expect(explain(schema, value)).toBe(message);
    expect(explain(schema, value, 'body', thorough)).toBe(message);
  });

  it('is told with all its faults, one for each place, in one line', () => {
    const all = (schema: object, value: unknown): string =>
      explain(schema, value, 'config', thorough);
    const schema = {
      type: 'object',
      required: ['host', 'port', 'nick'],
      additionalProperties: false,
      properties: {
        host: { type: 'string', minLength: 3, pattern: '^[a-z]+$' },
        port: { type: 'integer' },
        nick: { type: 'string' },
        mode: literals,
        limit: text,
        inner: nested,
      },
    };
    expect(all(schema, { host: '', port: 'x', mode: 'no', pot: 1 })).toBe(
      'config.nick is missing; unknown key config.pot; config.host must have 3 characters at least; ' +
        'config.port must be integer; config.mode must be one of always, never, 3',
    );
    const fine = { host: 'abc', port: 1, nick: 'a' };
    expect(all(schema, { ...fine, limit: 5, inner: { n: 'x' } })).toBe(
      'config.limit must be string or null; config.inner.n must be integer',
    );
    expect(all(schema, { a: 1, b: 1, c: 1, d: 1 })).toBe(
      'config.host is missing; config.port is missing; config.nick is missing; unknown key config.a; ' +
        'unknown key config.b; and 2 more',
    );
  });

  it('reads the first thousand of many faults', () => {
    const list = Array.from({ length: 3000 }, () => 1);
    expect(explain({ items: { type: 'string' } }, list, 'args', thorough)).toMatch(
      /^args\[0\] must be string; (.*; ){4}and many more$/,
    );
  });

  it('keeps the faults of two choices apart, and takes those behind $ref to theirs', () => {
    const all = (schema: object, value: unknown): string =>
      explain(schema, value, 'body', thorough);
    const either = (...keys: string[]) => ({ anyOf: keys.map((key) => ({ required: [key] })) });
    const schema = { allOf: [either('ids', 'labels'), either('from', 'since')] };
    expect(all(schema, {})).toBe(
      'body.ids or body.labels is missing; body.from or body.since is missing',
    );
    const alike = { properties: { modes: { type: 'string' }, mode: literals } };
    expect(all(alike, { modes: 1, mode: 'no' })).toBe(
      'body.modes must be string; body.mode must be one of always, never, 3',
    );
    const $defs = { text: { type: 'string', minLength: 2 } };
    const b = { anyOf: [{ $ref: '#/$defs/text' }, { type: 'null' }] };
    expect(all({ $defs, required: ['a'], properties: { b } }, { b: 'x' })).toBe(
      'body.a is missing; body.b must have 2 characters at least',
    );
  });

  it('says where, also without a name for the whole', () => {
    const schema = { properties: { a: { properties: { b: literals } } } };
    expect(explain(schema, { a: { b: 'no' } }, '')).toBe('a.b must be one of always, never, 3');
    expect(explain({ required: ['a'] }, {}, '')).toBe('a is missing');
  });

  it('names the values that a bot may have', () => {
    const bot = { id: 'x', kind: 'k', config: {}, labels: {}, dedicated: false };
    expect(explain(CreateBotBody, { ...bot, desired: 'no' })).toBe(
      'body.desired must be one of running, stopped',
    );
    expect(explain(CreateBotBody, { ...bot, desired: 'running', restart: { policy: 1 } })).toBe(
      'body.restart.policy must be one of always, on-failure, never',
    );
  });
});
