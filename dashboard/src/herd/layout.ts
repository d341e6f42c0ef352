// Where the cells of the herd are, in CSS px. Pure.

import type { Group } from './grouping.js';

/** A cell with the space around it. */
export interface CellSize {
  width: number;
  height: number;
  /** Large enough for the id and the status as text. */
  isCard: boolean;
}

/** A group with its position: a title, and below it rows of cells. */
export interface Block extends Group {
  x: number;
  /** Of its title. */
  y: number;
  /** Of its first row. */
  top: number;
  columns: number;
  width: number;
}

export interface Layout {
  size: CellSize;
  blocks: Block[];
  height: number;
  count: number;
}

export interface Box {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Widths of cells without text, the largest first. */
const PITCHES = [32, 28, 24, 22, 20, 18, 16, 15, 14, 13, 12, 11, 10, 9];
const CARD = { width: 164, height: 46, most: 80 };
/** A card is not wider, however wide the page is. */
const MAX_CARD = 250;
const TITLE = 24;
const GAP = { x: 20, y: 10 };
/** Room for a title, at least. */
const TITLE_WIDTH = 136;
/** A group has about so many times more columns than rows. */
const ASPECT = 2.5;
/** One with this many rows in the whole width gets it. */
const FULL_ROWS = 3;

/**
 * The largest cells with which the herd is at most `budget` high; the smallest when there are none.
 * @param unit the size of everything: 1 where text has 14 px.
 */
export function layOut(
  groups: readonly Group[],
  width: number,
  budget: number,
  unit: number,
): Layout {
  const count = groups.reduce((sum, group) => sum + group.count, 0);
  let found: Layout | undefined;
  for (const size of sizesFor(count, width, unit)) {
    found = arrange(groups, count, width, size, unit);
    if (found.height <= budget) break;
  }
  return found ?? { size: { width: 9, height: 9, isCard: false }, blocks: [], height: 0, count };
}

function* sizesFor(count: number, width: number, unit: number): Generator<CellSize> {
  if (count <= CARD.most) {
    const columns = Math.max(1, Math.floor(width / (CARD.width * unit)));
    const wide = Math.floor(Math.min(width / columns, MAX_CARD * unit));
    yield { width: wide, height: Math.round(CARD.height * unit), isCard: true };
  }
  for (const pitch of PITCHES) {
    const side = Math.round(pitch * Math.max(1, unit));
    yield { width: side, height: side, isCard: false };
  }
}

function arrange(
  groups: readonly Group[],
  count: number,
  width: number,
  size: CellSize,
  unit: number,
): Layout {
  const most = Math.max(1, Math.floor(width / size.width));
  const title = groups.some((group) => group.title !== '') ? Math.round(TITLE * unit) : 0;
  const blocks: Block[] = [];
  let [x, y, bottom] = [0, 0, 0];
  for (const group of groups) {
    const columns = columnsFor(group.count, groups.length, most, size, unit);
    const wide = columns * size.width;
    if (x > 0 && x + wide > width) {
      x = 0;
      y = bottom + GAP.y * unit;
    }
    const top = y + title;
    blocks.push({ ...group, x, y, top, columns, width: wide });
    bottom = Math.max(bottom, top + Math.ceil(group.count / columns) * size.height);
    x += Math.ceil(wide + GAP.x * unit);
  }
  return { size, blocks, height: Math.ceil(bottom), count };
}

function columnsFor(
  count: number,
  groups: number,
  most: number,
  size: CellSize,
  unit: number,
): number {
  if (groups === 1 || count > most * FULL_ROWS) return most;
  const wanted = size.isCard
    ? Math.ceil(Math.sqrt(count))
    : Math.ceil(Math.sqrt((count * ASPECT * size.height) / size.width));
  const least = Math.ceil((TITLE_WIDTH * unit) / size.width);
  return Math.min(most, Math.max(1, least, wanted));
}

/** The block of a cell. */
export function blockOf({ blocks }: Layout, index: number): Block | undefined {
  let [from, to] = [0, blocks.length - 1];
  while (from < to) {
    const middle = (from + to + 1) >> 1;
    if ((blocks[middle]?.first ?? 0) <= index) from = middle;
    else to = middle - 1;
  }
  const block = blocks[from];
  return block && index >= block.first && index < block.first + block.count ? block : undefined;
}

export function boxOf(layout: Layout, index: number): Box {
  const { width, height } = layout.size;
  const block = blockOf(layout, index);
  if (!block) return { x: 0, y: 0, width, height };
  const at = index - block.first;
  const row = Math.floor(at / block.columns);
  return {
    x: block.x + (at - row * block.columns) * width,
    y: block.top + row * height,
    width,
    height,
  };
}

/** The cell at a point, undefined for none. */
export function cellAt({ blocks, size }: Layout, x: number, y: number): number | undefined {
  for (const { first, count, columns, width, x: left, top } of blocks) {
    if (x < left || x >= left + width || y < top) continue;
    const row = Math.floor((y - top) / size.height);
    const at = row * columns + Math.floor((x - left) / size.width);
    if (at < count) return first + at;
  }
  return undefined;
}

/** The group whose title is at a point. */
export function titleAt({ blocks }: Layout, x: number, y: number): Block | undefined {
  return blocks.find(
    (block) => x >= block.x && x < block.x + block.width && y >= block.y && y < block.top,
  );
}
