import { expect, it } from 'vitest';
import { KindHeld, KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';

const HOUR = 60 * 60 * 1000;

it('the first loss is forgiven, the second within an hour is not', () => {
  const kinds = new KindQuarantine();
  expect(kinds.lost('a', 'first', 0)).toBe(false);
  expect(kinds.lost('b', 'first', 0)).toBe(false);
  expect(kinds.lost('a', 'too long after', HOUR)).toBe(false);
  expect(kinds.holdOf('a')).toBeNull();
  expect(() => kinds.admit('a')).not.toThrow();
  expect(kinds.lost('a', 'second', 2 * HOUR - 1)).toBe(true);
  expect(kinds.holdOf('a')).toEqual({ since_ms: 2 * HOUR - 1, reason: 'second' });
  expect(() => kinds.admit('a')).toThrow(KindHeld);
  expect(kinds.holdOf('b')).toBeNull();
});

it('while it is quarantined it stays so, and after its release its losses count from zero', () => {
  const kinds = new KindQuarantine();
  for (let n = 0; n < 2; n++) kinds.lost('a', 'threw', n);
  // Another host that had loaded it before.
  expect(kinds.lost('a', 'threw on another host', 2)).toBe(false);
  expect(kinds.holdOf('a')).toEqual({ since_ms: 1, reason: 'threw' });
  expect(kinds.release('a')).toBe(true);
  expect(kinds.release('a')).toBe(false);
  expect(kinds.lost('a', 'again', 3)).toBe(false);
  expect(kinds.lost('a', 'again', 4)).toBe(true);
});
