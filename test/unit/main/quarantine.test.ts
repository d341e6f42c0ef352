import { expect, it } from 'vitest';
import { Quarantine } from '../../../src/main/bots/quarantine.js';

const DAY_MS = 24 * 60 * 60 * 1000;
const BOTS = Array.from({ length: 100 }, (_, n) => `b${n}`);

it.each(BOTS.filter((_, n) => n % 9 === 0))(
  'of a hundred bots %s is alone after nine losses',
  (culprit) => {
    const quarantine = new Quarantine();
    let losses = 0;
    let together = BOTS;
    while (together.length > 1) {
      quarantine.lost(together, losses++);
      const group = quarantine.groupOf(culprit, losses);
      if (group) together = BOTS.filter((id) => quarantine.groupOf(id, losses) === group);
    }
    expect(together).toEqual([culprit]);
    expect(losses).toBeLessThanOrEqual(9);
  },
);

it('only bots that were on such a host before are quarantined, and a day later nobody is', () => {
  const quarantine = new Quarantine();
  expect(quarantine.lost(['a', 'b', 'c'], 0)).toBe(0);
  expect(quarantine.lost(['b', 'c', 'd', 'e'], 1)).toBe(2);
  const groups = (now: number): unknown[] =>
    ['a', 'b', 'c', 'd', 'e'].map((id) => quarantine.groupOf(id, now));
  const [a, b, c, d, e] = groups(2);
  expect([a, d, e]).toEqual([undefined, undefined, undefined]);
  expect(b).toBeDefined();
  expect(c).toBeDefined();
  expect(b).not.toBe(c);
  expect(groups(1 + DAY_MS)).toEqual(Array(5).fill(undefined));
  expect(quarantine.lost(['b', 'c'], 1 + DAY_MS)).toBe(0);
});
