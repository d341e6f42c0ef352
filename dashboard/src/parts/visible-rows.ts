/** Rows rendered beyond the visible ones, so that a short scroll shows no empty space. */
const MARGIN_ROWS = 6;

export interface View {
  /** Scroll position, in px. */
  top: number;
  /** Height of the scrolled area, in px. */
  height: number;
}

/**
 * The rows to render, from `first` up to but not including `last`. While it follows, those at the end. The scroll position may be
 * that of a longer list: it is limited to what `count` rows allow.
 */
export function visibleRows(
  { top, height }: View,
  count: number,
  rowHeight: number,
  isFollowing: boolean,
): { first: number; last: number } {
  const end = Math.max(0, count * rowHeight - height);
  const at = isFollowing ? end : Math.min(top, end);
  return {
    first: Math.max(0, Math.floor(at / rowHeight) - MARGIN_ROWS),
    last: Math.min(count, Math.ceil((at + height) / rowHeight) + MARGIN_ROWS),
  };
}
