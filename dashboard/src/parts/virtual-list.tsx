// A list that renders only its visible rows. All rows have the same height. Each row has a stable number, so that the scroll
// position survives when rows are added or removed before it.

import type { ComponentChildren, HTMLAttributes, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { visibleRows } from './visible-rows.js';

/** Within this distance, in px, the list is at its end: sizes may not be whole pixels. */
const END_PX = 1.5;

interface Props {
  count: number;
  /** Number of the first row. */
  base: number;
  rowHeight: number;
  /** What it returned is kept while a row is rendered: it is another function whenever a row is to be drawn again. */
  row: (index: number) => ComponentChildren;
  /** What a row is about: its elements stay with it when the order changes. Default: its number. */
  keyOf?: (index: number) => string | undefined;
  /** Keeps the end in view as rows are added. */
  isFollowing?: boolean;
  /** The user scrolled to the end (true), or away from it. */
  onEnd?: (isAtEnd: boolean) => void;
  /** The first rows are visible, or nearly. */
  onNearTop?: () => void;
  onNearEnd?: () => void;
  /** Index of a row to scroll into view, once it exists and whenever `revealKey` changes. */
  reveal?: number | undefined;
  revealKey?: unknown;
  /** Scroll position in px, saved here and restored when the list is mounted again. */
  scrolled?: { current: number };
  header?: ComponentChildren;
  class?: string;
  attributes?: HTMLAttributes<HTMLDivElement>;
}

/** The rows as they were rendered last, by index. */
interface Drawn {
  row: Props['row'];
  contents: ReadonlyMap<number, ComponentChildren>;
}

export function VirtualList(props: Props) {
  const { count, base, rowHeight, row, isFollowing = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const before = useRef({ base, rowHeight });
  /** Scroll position set by the list itself, to tell its scroll events from the user's. */
  const own = useRef(-1);
  const drawn = useRef<Drawn>({ row, contents: new Map() });

  // Rows added or removed before the first one shift all others.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const { base: was, rowHeight: wasHeight } = before.current;
    before.current = { base, rowHeight };
    if (isFollowing) {
      // The rows at the end are rendered already.
      element.scrollTop = element.scrollHeight;
      own.current = element.scrollTop;
    } else if (wasHeight !== rowHeight) {
      scrollTo(element, (element.scrollTop / wasHeight) * rowHeight);
    } else if (was !== base) {
      scrollTo(element, element.scrollTop + (was - base) * rowHeight);
    }
  });

  useLayoutEffect(() => {
    if (box.current) look(box.current);
  }, [isFollowing]);

  useLayoutEffect(() => {
    if (box.current && props.scrolled) scrollTo(box.current, props.scrolled.current);
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element || props.reveal === undefined) return;
    const top = props.reveal * rowHeight;
    const header = element.querySelector<HTMLElement>('.list-head')?.offsetHeight ?? 0;
    const room = element.clientHeight - header;
    if (top < element.scrollTop) scrollTo(element, top);
    else if (top + rowHeight > element.scrollTop + room) scrollTo(element, top + rowHeight - room);
    // Not when the index changes: rows added before it change it, and the user may have scrolled away.
  }, [props.revealKey, props.reveal === undefined]);

  function scrollTo(element: HTMLElement, top: number): void {
    const most = Math.max(0, element.scrollHeight - element.clientHeight);
    const wanted = Math.min(most, Math.max(0, top));
    if (Math.abs(element.scrollTop - wanted) < 1) return;
    element.scrollTop = wanted;
    own.current = element.scrollTop;
    look(element);
  }

  function look(element: HTMLElement): void {
    const top = element.scrollTop;
    const height = element.clientHeight;
    setView((was) =>
      Math.floor(was.top / rowHeight) === Math.floor(top / rowHeight) && was.height === height
        ? was
        : { top, height },
    );
  }

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => look(element));
    observer.observe(element);
    look(element);
    return () => observer.disconnect();
  }, []);

  const onScroll = (): void => {
    const element = box.current;
    if (!element) return;
    const { scrollTop, scrollHeight, clientHeight } = element;
    if (props.scrolled) props.scrolled.current = scrollTop;
    const isOwn = Math.abs(scrollTop - own.current) < 1;
    if (isOwn && isFollowing) return;
    look(element);
    const isAtEnd = scrollTop + clientHeight >= scrollHeight - END_PX;
    if (!isOwn) props.onEnd?.(isAtEnd);
    if (scrollTop < clientHeight) props.onNearTop?.();
    if (scrollTop + clientHeight * 2 > scrollHeight) props.onNearEnd?.();
  };

  const { first, last } = visibleRows(view, count, rowHeight, isFollowing);
  const rows: VNode[] = [];
  // A scroll renders only the rows that come into view.
  const known = drawn.current.row === row ? drawn.current.contents : undefined;
  const contents = new Map<number, ComponentChildren>();
  drawn.current = { row, contents };
  for (let index = first; index < last; index++) {
    const number = base + index;
    const content = known?.has(index) ? known.get(index) : row(index);
    contents.set(index, content);
    rows.push(
      <div
        class="list-row"
        // While following, new rows reuse the elements of those that have gone. The elements are always in the order of the rows:
        // screen readers and text selections follow it.
        key={isFollowing ? modulo(number, last - first) : (props.keyOf?.(index) ?? number)}
        style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
      >
        {content}
      </div>,
    );
  }
  return (
    <div ref={box} class={`list ${props.class ?? ''}`} onScroll={onScroll} {...props.attributes}>
      {props.header}
      <div class="list-body" style={{ height: `${count * rowHeight}px` }} role="presentation">
        {rows}
      </div>
    </div>
  );
}

function modulo(number: number, size: number): number {
  return ((number % size) + size) % size;
}
