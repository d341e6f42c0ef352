// Owns a list of any length of which only the rows that are seen are drawn. All rows are of one height. Rows are known by a
// number that stays theirs when others are added or cut off before them, and so is the place to which a person has scrolled.

import type { ComponentChildren, HTMLAttributes, VNode } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';

/** Rows beyond the edges, so that a short scroll shows no empty place. */
const MARGIN_ROWS = 6;
/** As near as this to the end, in px, is at the end: what is left over when sizes are no whole pixels. */
const END_PX = 1.5;

interface Props {
  count: number;
  /** Number of the first row. */
  base: number;
  rowHeight: number;
  row: (index: number) => ComponentChildren;
  /** Stays at the end as rows are added. */
  isFollowing?: boolean;
  /** A person has scrolled: to the end (true), or away from it. */
  onEnd?: (isAtEnd: boolean) => void;
  /** The first rows are seen, or nearly. */
  onNearTop?: () => void;
  onNearEnd?: () => void;
  /** Row that is to be brought into view: once, when it is there and whenever `revealKey` is another. */
  reveal?: number | undefined;
  revealKey?: unknown;
  /** Where it has scrolled to, in px: kept here, and gone back to by a list that is made anew. */
  scrolled?: { current: number };
  header?: ComponentChildren;
  class?: string;
  attributes?: HTMLAttributes<HTMLDivElement>;
}

export function VirtualList(props: Props) {
  const { count, base, rowHeight, row, isFollowing = false } = props;
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, height: 600 });
  const before = useRef({ base, rowHeight });
  /** Where the list itself has scrolled to: the event that tells of it is no person's. */
  const own = useRef(-1);

  // What was cut off or added before the first row moves all others.
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const { base: was, rowHeight: wasHeight } = before.current;
    before.current = { base, rowHeight };
    if (isFollowing) {
      // What is drawn is at the end in any case, and is not drawn once more for it.
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
    // Not when its index changes: it does with each page that is put before it, and a person may have scrolled on.
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

  const first = Math.max(0, Math.min(count, Math.floor(view.top / rowHeight)) - MARGIN_ROWS);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + MARGIN_ROWS);
  const drawn = last - first;
  const from = isFollowing ? Math.max(0, count - drawn) : first;
  const to = isFollowing ? count : last;
  const rows: VNode[] = [];
  for (let index = from; index < to; index++) {
    const number = base + index;
    // While it follows nearly all rows are new each time: their places are used again, in whatever order. Otherwise the order
    // is that of the rows, so that text can be marked over several.
    const slot = isFollowing ? modulo(number, drawn) : index - from;
    rows[slot] = (
      <div
        class="list-row"
        key={isFollowing ? slot : number}
        style={{ height: `${rowHeight}px`, transform: `translateY(${index * rowHeight}px)` }}
      >
        {row(index)}
      </div>
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
