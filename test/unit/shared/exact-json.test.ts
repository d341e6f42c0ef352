import { expect, it } from 'vitest';
import { pathOfInexact } from '../../../src/shared/contract/exact-json.js';

it.each([
  ['{"a":1,"__proto__":{"b":2}}', 'data has the key __proto__, which is not allowed'],
  ['{"a":[{"\\u005f_proto__":1}]}', 'data.a[0] has the key __proto__, which is not allowed'],
  ['{"name":"x\\ud800y"}', 'data.name has half of a character (\\ud800)'],
  ['{"a":{"b":["\\udfff"]}}', 'data.a.b[0] has half of a character (\\udfff)'],
  ['{"a":{"\\udc00x":1}}', 'a key of data.a has half of a character (\\udc00)'],
  ['"\\ude00\\ud83d"', 'data has half of a character (\\ude00)'],
])('%s would be changed', (text, place) => {
  expect(pathOfInexact(text, 'data')).toBe(place);
});

it.each([
  '{"a":"__proto__","__proto":1,"proto__":2}',
  '{"a":"\\ud83d\\ude00 \\u00e9 😀","😀":1}',
  '"\\\\ud800"',
  'null',
  '[]',
])('%s is carried as it is', (text) => {
  expect(pathOfInexact(text, 'data')).toBeUndefined();
});
