// The pointer in the herd: it peeks, opens, and draws a lasso.

import type { TargetedPointerEvent } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { setSelected, table } from '../model/table.js';
import { drawn, lassoed, type Point } from './lasso.js';
import { cellAt, titleAt } from './layout.js';
import type { HerdScene } from './use-scene.js';

/** A pointer that has moved less than this, in px, has not moved. */
const STILL_PX = 5;

type PointerIn = TargetedPointerEvent<HTMLElement>;

interface PointerOptions {
  herd: HerdScene | undefined;
  /** A touch draws too, and a click selects. */
  isSelecting: boolean;
  onOpen: (id: string) => void;
  /** @param isRange up to this one. */
  onSelect: (index: number, isRange: boolean) => void;
}

export interface HerdPointer {
  /** The cell under the pointer. */
  over: number | undefined;
  /** The line that is being drawn. */
  line: readonly Point[];
  /** Ends the line without selecting. @returns whether there was one. */
  cancel: () => boolean;
  handlers: {
    onPointerDown: (event: PointerIn) => void;
    onPointerMove: (event: PointerIn) => void;
    onPointerUp: (event: PointerIn) => void;
    onPointerLeave: () => void;
    onPointerCancel: () => void;
  };
}

export function usePointer({ herd, isSelecting, onOpen, onSelect }: PointerOptions): HerdPointer {
  const [over, setOver] = useState<number>();
  const [line, setLine] = useState<readonly Point[]>([]);
  const pressed = useRef<{ at: Point; line: readonly Point[]; isLasso: boolean } | undefined>(
    undefined,
  );
  const end = (): void => {
    pressed.current = undefined;
    setLine([]);
    herd?.scene.mark();
  };
  const litIn = (indices: readonly number[]): number[] =>
    herd ? indices.filter((index) => herd.isLit(index)) : [];
  const add = (indices: readonly number[], isMore: boolean): void => {
    const ids = litIn(indices).map((index) => herd?.cells.ids[index] ?? '');
    setSelected(new Set([...(isMore ? table.peek().selected : []), ...ids]));
  };
  return {
    // The herd may have changed under a pointer that is still.
    over: over !== undefined && herd?.isLit(over) ? over : undefined,
    line,
    cancel: () => {
      const was = pressed.current?.isLasso ?? false;
      if (was) end();
      return was;
    },
    handlers: {
      onPointerDown(event) {
        if (event.button !== 0 || !herd) return;
        const at = pointIn(event);
        pressed.current = { at, line: [at], isLasso: false };
      },
      onPointerMove(event) {
        if (!herd) return;
        const at = pointIn(event);
        // The button was released outside the herd.
        if (event.buttons === 0) pressed.current = undefined;
        const press = pressed.current;
        if (!press) {
          const index = event.pointerType === 'touch' ? undefined : cellAt(herd.layout, ...at);
          setOver(index !== undefined && herd.isLit(index) ? index : undefined);
          return;
        }
        // A finger scrolls.
        if (event.pointerType === 'touch' && !isSelecting) return;
        const moved = Math.hypot(at[0] - press.at[0], at[1] - press.at[1]);
        if (!press.isLasso && moved < STILL_PX) return;
        if (!press.isLasso) event.currentTarget.setPointerCapture(event.pointerId);
        press.isLasso = true;
        press.line = drawn(press.line, at);
        setOver(undefined);
        setLine(press.line);
        herd.scene.mark(new Set(litIn(lassoed(herd.layout, press.line))));
      },
      onPointerUp(event) {
        const press = pressed.current;
        if (!press || !herd) return;
        const isMore = event.shiftKey || event.ctrlKey || event.metaKey || isSelecting;
        if (press.isLasso) {
          add(lassoed(herd.layout, press.line), isMore);
          end();
          return;
        }
        pressed.current = undefined;
        const [x, y] = press.at;
        const title = titleAt(herd.layout, x, y);
        if (title) {
          add(
            Array.from({ length: title.count }, (_, n) => title.first + n),
            isMore,
          );
          return;
        }
        const index = cellAt(herd.layout, x, y);
        if (index === undefined || !herd.isLit(index)) return;
        if (isMore) onSelect(index, event.shiftKey);
        else onOpen(herd.cells.ids[index] ?? '');
      },
      onPointerLeave: () => setOver(undefined),
      onPointerCancel: end,
    },
  };
}

function pointIn(event: PointerIn): Point {
  const { left, top } = event.currentTarget.getBoundingClientRect();
  return [event.clientX - left, event.clientY - top];
}
