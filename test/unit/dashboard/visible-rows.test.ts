import { describe, expect, it } from 'vitest';
import { visibleRows } from '../../../dashboard/src/parts/visible-rows.js';

const VIEW = { top: 0, height: 100 };
const ROW = 10;
/** A scroll position far down in a list that was longer before. */
const STALE = { top: 100_000, height: 100 };

describe('the rows of a virtual list', () => {
  it.each([
    ['the beginning', VIEW, 1000, false, { first: 0, last: 16 }],
    ['the middle', { top: 5000, height: 100 }, 1000, false, { first: 494, last: 516 }],
    ['the end', { top: 9900, height: 100 }, 1000, false, { first: 984, last: 1000 }],
    [
      'the end while following, wherever it was scrolled to',
      VIEW,
      1000,
      true,
      { first: 984, last: 1000 },
    ],
    ['all of a list that fits', VIEW, 4, false, { first: 0, last: 4 }],
    ['none of an empty list', VIEW, 0, true, { first: 0, last: 0 }],
    // A filter makes the list shorter before the browser reports the new scroll position.
    ['all rows after a filter left few', STALE, 8, false, { first: 0, last: 8 }],
    ['all rows after a filter left few, while following', STALE, 8, true, { first: 0, last: 8 }],
    ['a full view after a filter left some', STALE, 40, false, { first: 24, last: 40 }],
    [
      'a full view after a filter left some, while following',
      STALE,
      40,
      true,
      { first: 24, last: 40 },
    ],
  ])('%s', (_, view, count, isFollowing, rows) => {
    expect(visibleRows(view, count, ROW, isFollowing)).toEqual(rows);
  });
});
