import fc from 'fast-check';
import { expect, it } from 'vitest';
import { drawn, isInside, lassoed, type Point } from '../../../dashboard/src/herd/lasso.js';
import { boxOf, type Layout, layOut } from '../../../dashboard/src/herd/layout.js';

/** 300 cells of 10 px in rows of 30, without a title. */
const LAYOUT: Layout = {
  ...layOut([{ key: '', title: '', first: 0, count: 300 }], 300, 1, 1),
  size: { width: 10, height: 10, isCard: false },
  blocks: [
    { key: '', title: '', first: 0, count: 300, x: 0, y: 0, top: 0, columns: 30, width: 300 },
  ],
  height: 100,
};

const line = (...points: Point[]): readonly Point[] =>
  points.reduce<readonly Point[]>((sum, point) => drawn(sum, point), []);

it('a loop selects what is in it and what it touches', () => {
  // Around the cells of columns 2 to 4 in rows 2 to 4.
  const found = lassoed(LAYOUT, line([25, 25], [45, 25], [45, 45], [25, 45], [25, 25]));
  const wanted = [2, 3, 4].flatMap((row) => [2, 3, 4].map((column) => row * 30 + column));
  expect(found).toEqual(wanted);
});

it('a line that is no loop selects what it touches, however fast it was drawn', () => {
  expect(lassoed(LAYOUT, line([5, 15], [95, 15]))).toEqual(
    Array.from({ length: 10 }, (_, n) => 30 + n),
  );
});

it('outside of the cells nothing is selected', () => {
  expect(lassoed(LAYOUT, line([400, 10], [500, 10], [450, 90]))).toEqual([]);
  expect(lassoed(LAYOUT, [])).toEqual([]);
});

it('a hole in a ring is not in it', () => {
  const outer: Point[] = [
    [0, 0],
    [100, 0],
    [100, 100],
    [0, 100],
    [0, 0],
  ];
  const inner: Point[] = [
    [30, 30],
    [30, 70],
    [70, 70],
    [70, 30],
    [30, 30],
  ];
  const ring = [...outer, ...inner, [0, 0] as Point];
  expect(isInside(ring, 50, 50)).toBe(false);
  expect(isInside(ring, 15, 15)).toBe(true);
});

it('near points are left out, and a long line keeps its shape within its bound', () => {
  expect(line([0, 0], [1, 1], [2, 0], [10, 0])).toEqual([
    [0, 0],
    [10, 0],
  ]);
  const circle = Array.from({ length: 5000 }, (_, n): Point => {
    const angle = (n / 5000) * 2 * Math.PI;
    return [5000 + 4000 * Math.cos(angle), 5000 + 4000 * Math.sin(angle)];
  });
  const kept = line(...circle);
  expect(kept.length).toBeLessThanOrEqual(401);
  expect(isInside(kept, 5000, 1100)).toBe(true);
  expect(isInside(kept, 5000, 900)).toBe(false);
});

it('a rectangle selects exactly the cells whose middle is in it, or that its edge touches', () => {
  const position = fc.integer({ min: 0, max: 299 });
  const height = fc.integer({ min: 0, max: 99 });
  fc.assert(
    fc.property(position, height, position, height, (ax, ay, bx, by) => {
      const [x, right] = [Math.min(ax, bx), Math.max(ax, bx)];
      const [y, bottom] = [Math.min(ay, by), Math.max(ay, by)];
      const rectangle: Point[] = [
        [x, y],
        [right, y],
        [right, bottom],
        [x, bottom],
        [x, y],
      ];
      const found = new Set(lassoed(LAYOUT, rectangle));
      for (let index = 0; index < LAYOUT.count; index++) {
        const box = boxOf(LAYOUT, index);
        const meets =
          box.x <= right && box.x + box.width > x && box.y <= bottom && box.y + box.height > y;
        expect(found.has(index), `cell ${index} of ${JSON.stringify(rectangle)}`).toBe(meets);
      }
    }),
    { numRuns: 60 },
  );
});
