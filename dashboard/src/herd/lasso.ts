// What a drawn line selects: the cells in it, and those that it touches. Pure.

import { cellAt, type Layout } from './layout.js';

export type Point = readonly [x: number, y: number];

/** Points that are nearer to each other than this, in px, add nothing. */
const STEP = 4;
/** Points of a line; of a longer one every second is left out. */
const MAX_POINTS = 400;

/** Adds a point to a line. */
export function drawn(line: readonly Point[], point: Point): readonly Point[] {
  const last = line.at(-1);
  if (last && Math.hypot(point[0] - last[0], point[1] - last[1]) < STEP) return line;
  const kept = line.length < MAX_POINTS ? line : line.filter((_, at) => at % 2 === 0);
  return [...kept, point];
}

/** Whether a point is in the area that the line bounds when its ends are joined. */
export function isInside(line: readonly Point[], x: number, y: number): boolean {
  let is = false;
  let [px, py] = line.at(-1) ?? [0, 0];
  for (const [qx, qy] of line) {
    if (qy > y !== py > y && x < qx + ((px - qx) * (y - qy)) / (py - qy)) is = !is;
    [px, py] = [qx, qy];
  }
  return is;
}

/** Indices of the cells that the line touches, or whose middle is in its area, in their order. */
export function lassoed(layout: Layout, line: readonly Point[]): number[] {
  const found = new Set<number>();
  let [left, top, right, bottom] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, 0, 0];
  for (const [at, [x, y]] of line.entries()) {
    left = Math.min(left, x);
    right = Math.max(right, x);
    top = Math.min(top, y);
    bottom = Math.max(bottom, y);
    const [px, py] = line[at - 1] ?? [x, y];
    const steps = Math.max(1, Math.ceil(Math.hypot(x - px, y - py) / STEP));
    for (let n = 0; n <= steps; n++) {
      const touched = cellAt(layout, px + ((x - px) * n) / steps, py + ((y - py) * n) / steps);
      if (touched !== undefined) found.add(touched);
    }
  }
  // Only what is in the rectangle around the line.
  for (const { first, count, columns, x: x0, top: y0 } of layout.blocks) {
    const { width, height } = layout.size;
    const rows = Math.ceil(count / columns);
    const [firstRow, lastRow] = within(top - y0, bottom - y0, height, rows);
    const [firstColumn, lastColumn] = within(left - x0, right - x0, width, columns);
    for (let row = firstRow; row <= lastRow; row++) {
      for (let column = firstColumn; column <= lastColumn; column++) {
        const at = row * columns + column;
        const isIn = isInside(line, x0 + (column + 0.5) * width, y0 + (row + 0.5) * height);
        if (at < count && isIn) found.add(first + at);
      }
    }
  }
  return [...found].sort((a, b) => a - b);
}

/** The first and the last of `count` cells of a size that meet a stretch. */
function within(from: number, to: number, size: number, count: number): [number, number] {
  return [Math.max(0, Math.floor(from / size)), Math.min(count - 1, Math.floor(to / size))];
}
