// A set of names' hashes, beside a Set.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HashSet } from '../../../src/shared/stream/hash-set.js';

const low = fc.nat({ max: 0xffffffff }).map((word) => (word | 1) >>> 0);
/** Few words, so that names meet in one of the two and in their place. */
const close = fc.constantFrom(1, 3, 0x80000001, 0xffffffff);
const name = fc.record({
  low: fc.oneof(low, close),
  high: fc.oneof(fc.nat({ max: 0xffffffff }), fc.constantFrom(0, 1, 0xffffffff)),
});

describe('a set of hashes', () => {
  it('has what was put in and nothing else, however the words meet', () => {
    fc.assert(
      fc.property(
        fc.array(name, { size: 'max', maxLength: 200 }),
        fc.array(name),
        (inside, others) => {
          const set = new HashSet(inside);
          const model = new Set(inside.map((one) => `${one.low} ${one.high}`));
          for (const one of [...inside, ...others]) {
            expect(set.has(one.low, one.high)).toBe(model.has(`${one.low} ${one.high}`));
          }
          // What stands for a frame without a name.
          expect(set.has(0, 0)).toBe(false);
        },
      ),
    );
  });
});
