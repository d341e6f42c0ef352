import { describe, expect, it } from 'vitest';
import type { Group } from '../../../dashboard/src/herd/grouping.js';
import {
  blockOf,
  boxOf,
  cellAt,
  type Layout,
  layOut,
  titleAt,
} from '../../../dashboard/src/herd/layout.js';
import { walk } from '../../../dashboard/src/herd/walk.js';

/** Groups with so many cells each. */
function groupsOf(...counts: number[]): Group[] {
  let first = 0;
  return counts.map((count, n) => {
    const group = { key: `g${n}`, title: `group ${n}`, first, count };
    first += count;
    return group;
  });
}

const WIDTH = 1000;
const BUDGET = 450;

function layoutOf(...counts: number[]): Layout {
  return layOut(groupsOf(...counts), WIDTH, BUDGET, 1);
}

const middle = (layout: Layout, index: number): [number, number] => {
  const { x, y, width, height } = boxOf(layout, index);
  return [x + width / 2, y + height / 2];
};

const HERDS = [
  [1],
  [5],
  [80],
  [81],
  [2000],
  [5000],
  [3, 700, 12, 1],
  Array(150).fill(20),
  [5000, 1],
];

describe.each(HERDS.map((counts) => [counts]))('groups of %j', (counts) => {
  const layout = layoutOf(...counts);

  it('has a place for each cell, in the width, and none over another or over a title', () => {
    expect(layout.count).toBe(counts.reduce((sum, count) => sum + count, 0));
    const boxes = Array.from({ length: layout.count }, (_, index) => boxOf(layout, index));
    const outside = boxes.filter(
      ({ x, y, width, height }) =>
        x < 0 || y < 0 || x + width > WIDTH || y + height > layout.height,
    );
    expect(outside).toEqual([]);
    expect(new Set(boxes.map(({ x, y }) => `${x},${y}`)).size).toBe(layout.count);
    for (const [n, a] of layout.blocks.entries()) {
      for (const b of layout.blocks.slice(n + 1)) {
        const isBeside = a.x + a.width <= b.x || b.x + b.width <= a.x;
        const bottom = a.top + Math.ceil(a.count / a.columns) * layout.size.height;
        expect(isBeside || bottom <= b.y, `${a.key} and ${b.key}`).toBe(true);
      }
    }
  });

  it('finds each cell at its place, and its block', () => {
    const wrong = Array.from({ length: layout.count }, (_, index) => index).filter((index) => {
      const block = blockOf(layout, index);
      const isIn = block && index >= block.first && index < block.first + block.count;
      return cellAt(layout, ...middle(layout, index)) !== index || !isIn;
    });
    expect(wrong).toEqual([]);
  });
});

it('cells are as large as the height allows: text for a few, small ones for thousands', () => {
  expect(layoutOf(5).size.isCard).toBe(true);
  expect(layoutOf(80).height).toBeLessThanOrEqual(BUDGET);
  const [some, many] = [layoutOf(300), layoutOf(3000)];
  expect(some.size).toMatchObject({ isCard: false });
  expect(some.size.width).toBeGreaterThan(many.size.width);
  expect(many.height).toBeLessThanOrEqual(BUDGET);
  // There is a least size, with which the herd is higher than the window.
  const most = layoutOf(20_000);
  expect(most.size.width).toBe(9);
  expect(most.height).toBeGreaterThan(BUDGET);
});

it('cells grow with the text of the page', () => {
  const small = layOut(groupsOf(20_000), WIDTH, BUDGET, 1).size.width;
  expect(layOut(groupsOf(20_000), WIDTH, BUDGET, 1.5).size.width).toBeGreaterThan(small);
});

it('an empty herd, and one of groups without cells, has no height to draw', () => {
  expect(layOut([], WIDTH, BUDGET, 1)).toMatchObject({ blocks: [], height: 0, count: 0 });
});

it('without titles there is no room for them', () => {
  const [group] = groupsOf(500);
  const bare = layOut([{ ...(group as Group), title: '' }], WIDTH, BUDGET, 1);
  expect(bare.blocks[0]).toMatchObject({ y: 0, top: 0 });
});

it('beside, between and below the cells there is none, and a title is that of its group', () => {
  const layout = layoutOf(40, 60);
  const [a, b] = layout.blocks as [Layout['blocks'][0], Layout['blocks'][0]];
  expect(cellAt(layout, -1, a.top + 1)).toBeUndefined();
  expect(cellAt(layout, a.x + a.width + 1, a.top + 1)).toBeUndefined();
  expect(cellAt(layout, 5, layout.height + 1)).toBeUndefined();
  expect(cellAt(layout, a.x + 3, a.y + 3)).toBeUndefined();
  expect(titleAt(layout, a.x + 3, a.y + 3)?.key).toBe('g0');
  expect(titleAt(layout, b.x + 3, b.y + 3)?.key).toBe('g1');
  expect(titleAt(layout, a.x + 3, a.top + 3)).toBeUndefined();
  // Of the last row only what has cells.
  const last = boxOf(layout, a.first + a.count - 1);
  expect(cellAt(layout, last.x + last.width + 1, last.y + 1)).toBeUndefined();
});

describe('keys', () => {
  const layout = layoutOf(2000, 50);
  const columns = layout.blocks[0]?.columns ?? 0;
  const all = (): boolean => true;
  const from = 3 * columns + 5;

  it('arrows lead to the cells beside, above and below', () => {
    expect(walk(layout, from, 'ArrowRight', false, all)).toBe(from + 1);
    expect(walk(layout, from, 'ArrowLeft', false, all)).toBe(from - 1);
    expect(walk(layout, from, 'ArrowDown', false, all)).toBe(from + columns);
    expect(walk(layout, from, 'ArrowUp', false, all)).toBe(from - columns);
  });

  it('at the edge they stay, and from group to group they continue', () => {
    expect(walk(layout, 0, 'ArrowLeft', false, all)).toBe(0);
    expect(walk(layout, 0, 'ArrowUp', false, all)).toBe(0);
    expect(walk(layout, 1999, 'ArrowRight', false, all)).toBe(2000);
    expect(walk(layout, 2049, 'ArrowRight', false, all)).toBe(2049);
    expect(walk(layout, 2000, 'ArrowUp', false, all)).toBeLessThan(2000);
    expect(walk(layout, 1990, 'ArrowDown', false, all)).toBeGreaterThanOrEqual(2000);
  });

  it('Home and End are of the group, of the herd with Ctrl; pages are groups', () => {
    expect(walk(layout, 2020, 'Home', false, all)).toBe(2000);
    expect(walk(layout, 2020, 'End', false, all)).toBe(2049);
    expect(walk(layout, 2020, 'Home', true, all)).toBe(0);
    expect(walk(layout, 20, 'End', true, all)).toBe(2049);
    expect(walk(layout, 20, 'PageDown', false, all)).toBe(2000);
    expect(walk(layout, 2020, 'PageUp', false, all)).toBe(0);
    expect(walk(layout, 2020, 'PageDown', false, all)).toBe(2020);
  });

  it('what is not lit is passed over', () => {
    const lit = new Set([from, from + 7, from + columns * 4 + 1]);
    const isLit = (index: number): boolean => lit.has(index);
    expect(walk(layout, from, 'ArrowRight', false, isLit)).toBe(from + 7);
    expect(walk(layout, from, 'ArrowDown', false, isLit)).toBe(from + columns * 4 + 1);
    expect(walk(layout, from, 'ArrowLeft', false, isLit)).toBe(from);
    expect(walk(layout, from, 'End', true, isLit)).toBe(from + columns * 4 + 1);
  });

  it('other keys mean nothing here', () => {
    expect(walk(layout, from, 'x', false, all)).toBeUndefined();
    expect(walk(layout, from, 'Tab', false, all)).toBeUndefined();
  });
});
