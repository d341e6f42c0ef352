// What a bot costs that changes its value often: its spans are found and dropped without a look at all others.

import { expect, it, vi } from 'vitest';
import { SpanHistory } from '../../../src/shared/stream/span-history.js';

it('a bot with thousands of spans costs a few steps for each frame', () => {
  const history = new SpanHistory<boolean>((one, other) => one === other);
  const bot = { low: 1, high: 2, json: '' };
  const changes = 5000;
  for (let seq = 0; seq < changes; seq++) history.set(bot, seq % 2 === 0, seq, seq + 1);
  let steps = 0;
  const { filter } = Array.prototype;
  vi.spyOn(Array.prototype, 'filter').mockImplementation(function (this: unknown[], ...args) {
    steps += this.length;
    return filter.apply(this, args);
  });
  try {
    for (let seq = 0; seq < changes; seq++) {
      history.prune(seq);
      // Both sides of a change; before the first there was nothing.
      expect(history.at(1, 2, seq)).toEqual(seq === 0 ? [true] : [seq % 2 === 1, seq % 2 === 0]);
      expect(history.knows(1, 2, seq)).toBe(true);
    }
  } finally {
    vi.restoreAllMocks();
  }
  expect(steps).toBeLessThan(10 * changes);
});
