import { expect, it } from 'vitest';
import { SearchShares } from '../../../src/front/history/search-shares.js';

/** Enters until it is refused. @returns what leaves again. */
function fill(shares: SearchShares, token: string): (() => void)[] {
  const entered: (() => void)[] = [];
  for (;;) {
    try {
      entered.push(shares.enter(token));
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'too_many' });
      return entered;
    }
  }
}

it('a token has at most a quarter of the room', () => {
  expect(fill(new SearchShares(), 'a')).toHaveLength(64);
});

it('many tokens that take all they can leave room for another', () => {
  const shares = new SearchShares();
  for (let token = 0; token < 12; token++) {
    expect(fill(shares, `greedy-${token}`).length).toBeGreaterThan(0);
  }
  expect(() => shares.enter('modest')).not.toThrow();
});

it('what is over makes room again', () => {
  const shares = new SearchShares();
  for (const leave of fill(shares, 'a')) leave();
  expect(fill(shares, 'a')).toHaveLength(64);
});
