// How much room a column of names has: all of them whole, unless a few are far longer than the others.

import { expect, it } from 'vitest';
import { usualLength } from '../../../dashboard/src/columns/column.js';

it.each([
  ['none', [], 0],
  ['one long name alone', [64], 64],
  ['a thousand numbered ones', Array.from({ length: 1000 }, (_, n) => `bot-${n + 1}`.length), 8],
  ['one of 64 among short ones', [7, 7, 7, 8, 7, 7, 7, 7, 7, 64], 16],
  ['mostly long ones', [60, 61, 62, 63, 64], 64],
] as const)('%s', (_, lengths, expected) => {
  expect(usualLength(lengths)).toBe(expected);
});
