// What a client or an operator reads of a value that does not fit its schema.

import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { CreateBotBody } from '../../../src/shared/contract/bots.js';
import { explainSchemaError } from '../../../src/shared/contract/explain.js';

const ajv = new Ajv({ allowUnionTypes: true });

function explain(schema: object, value: unknown, what = 'body'): string {
  const validate = ajv.compile(schema);
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
