// The keys that move from cell to cell. Pure.

import { blockOf, boxOf, type Layout } from './layout.js';

/** A step to the side costs so many times as much as one ahead. */
const ASIDE = 3;

/**
 * The cell to which a key leads, undefined when the key means nothing here. Cells that are not lit are passed over.
 * @param key `KeyboardEvent.key`. @param isFar the key that goes to the ends of the herd was held.
 */
export function walk(
  layout: Layout,
  from: number,
  key: string,
  isFar: boolean,
  isLit: (index: number) => boolean,
): number | undefined {
  const { count } = layout;
  const block = blockOf(layout, from);
  const end = block ? block.first + block.count - 1 : count - 1;
  switch (key) {
    case 'ArrowRight':
      return next(from + 1, 1, count, isLit) ?? from;
    case 'ArrowLeft':
      return next(from - 1, -1, count, isLit) ?? from;
    case 'ArrowDown':
      return beyond(layout, from, 1, isLit) ?? from;
    case 'ArrowUp':
      return beyond(layout, from, -1, isLit) ?? from;
    case 'Home':
      return next(isFar ? 0 : (block?.first ?? 0), 1, count, isLit) ?? from;
    case 'End':
      return next(isFar ? count - 1 : end, -1, count, isLit) ?? from;
    case 'PageDown':
      return next(end + 1, 1, count, isLit) ?? from;
    case 'PageUp': {
      const before = block && blockOf(layout, block.first - 1);
      return next(before?.first ?? 0, 1, count, isLit) ?? from;
    }
    default:
      return undefined;
  }
}

/** The first lit cell from `start` on, in a direction. */
function next(
  start: number,
  by: 1 | -1,
  count: number,
  isLit: (index: number) => boolean,
): number | undefined {
  for (let at = start; at >= 0 && at < count; at += by) if (isLit(at)) return at;
  return undefined;
}

/** The nearest lit cell below, or above. */
function beyond(
  layout: Layout,
  from: number,
  sign: 1 | -1,
  isLit: (index: number) => boolean,
): number | undefined {
  const start = boxOf(layout, from);
  let best: number | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let index = 0; index < layout.count; index++) {
    if (!isLit(index)) continue;
    const box = boxOf(layout, index);
    const ahead = (box.y - start.y) * sign;
    if (ahead <= 0) continue;
    const cost = ahead + Math.abs(box.x - start.x) * ASIDE;
    if (cost < least) [best, least] = [index, cost];
  }
  return best;
}
