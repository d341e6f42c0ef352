import fc from 'fast-check';
import { expect, it } from 'vitest';
import { MAX_VERDICTS, Verdicts } from '../../../src/front/stream/subscriber-group.js';

it('judges each of the newest frames once, also for members at different cursors', () => {
  const judged = new Map<number, number>();
  const verdicts = new Verdicts((seq) => {
    judged.set(seq, (judged.get(seq) ?? 0) + 1);
    return seq % 3 === 0;
  });
  for (let member = 0; member < 3; member++) {
    for (let seq = 100; seq < 600; seq++) expect(verdicts.of(seq)).toBe(seq % 3 === 0);
  }
  expect(new Set(judged.values())).toEqual(new Set([1]));
});

it('is right for frames in any order, also those that it has forgotten', () => {
  const seqs = fc.array(fc.oneof(fc.nat({ max: 50 }), fc.nat({ max: 4 * MAX_VERDICTS })));
  fc.assert(
    fc.property(seqs, (order) => {
      const verdicts = new Verdicts((seq) => seq % 5 < 2);
      for (const seq of order) expect(verdicts.of(seq)).toBe(seq % 5 < 2);
    }),
  );
});
