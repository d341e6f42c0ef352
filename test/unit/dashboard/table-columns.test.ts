import { expect, it } from 'vitest';
import { type Column, gridOf } from '../../../dashboard/src/columns/column.js';

const column = (name: string, least: number, grow: number): Column => ({
  name,
  title: name,
  least,
  grow,
});
const OPTIONS = {
  widths: {},
  chars: { id: 30 },
  padPx: 4,
  mostPercent: 40,
  textPx: 10,
  besidePx: 8,
};

it('gives a column its longest value while there is room, and its least width otherwise', () => {
  const { tracks, least } = gridOf([column('id', 50, 0), column('text', 200, 1)], OPTIONS);
  expect(tracks).toBe('minmax(5.00em, max(5.00em, min(30ch + 4px, 40%))) minmax(20.00em, 1fr)');
  // The table is as wide as that at least, so that no row is wider than the table.
  expect(least).toBe('calc(8px + 25.00em)');
});

it('gives all of the rest to such a column when no other takes it', () => {
  const { tracks } = gridOf([column('id', 50, 2), column('time', 60, 0)], OPTIONS);
  expect(tracks).toBe('minmax(5.00em, 2fr) 6.00em');
});

it('gives a column that was resized exactly its width', () => {
  const { tracks, least } = gridOf([column('id', 50, 1), column('text', 200, 1)], {
    ...OPTIONS,
    widths: { text: 90 },
  });
  expect(tracks).toBe('minmax(5.00em, 1fr) 90px');
  expect(least).toBe('calc(98px + 5.00em)');
});
