import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { go, hrefIn } from '../model/route.js';
import { setActive, setSelected, table } from '../model/table.js';
import { numberText, t } from '../texts/text.js';
import { statusText } from './cells.js';
import { blockOf, boxOf } from './layout.js';
import { Peek } from './peek.js';
import { Source } from './source.js';
import { HerdSummary } from './summary.js';
import { usePointer } from './use-pointer.js';
import { type HerdScene, useScene } from './use-scene.js';
import { walk } from './walk.js';

/** The herd as cells. It is one tab stop; arrows move between cells. */
export function HerdCanvas({ isSelecting }: { isSelecting: boolean }) {
  const elements = {
    box: useRef<HTMLDivElement>(null),
    pulses: useRef<HTMLCanvasElement>(null),
    cells: useRef<HTMLCanvasElement>(null),
    marks: useRef<HTMLCanvasElement>(null),
  };
  const list = useRef<HTMLDivElement>(null);
  const { title, bots } = useContext(Source);
  const herd = useScene(elements);
  const [hasFocus, setFocus] = useState(false);
  const [isPeekOff, setPeekOff] = useState(false);
  const hint = useId();
  const { active, selected } = table.value;
  const at = (active === undefined ? undefined : herd?.cells.indexOf(active)) ?? firstLit(herd);
  /** Where a range of the selection begins. */
  const anchor = useRef<string | undefined>(undefined);

  const select = (index: number, isRange: boolean): void => {
    if (!herd) return;
    const { ids } = herd.cells;
    const from =
      isRange && anchor.current !== undefined ? herd.cells.indexOf(anchor.current) : undefined;
    const next = new Set(selected);
    if (from === undefined) {
      const id = ids[index] ?? '';
      if (!next.delete(id)) next.add(id);
      anchor.current = id;
    } else {
      for (let n = Math.min(from, index); n <= Math.max(from, index); n++) {
        if (herd.isLit(n)) next.add(ids[n] ?? '');
      }
    }
    setActive(ids[index] ?? '');
    setSelected(next);
  };
  const pointer = usePointer({
    herd,
    isSelecting,
    onOpen: (id) => go(hrefIn('bots', id)),
    onSelect: select,
  });

  const onKeyDown = (event: KeyboardEvent): void => {
    if (!herd || at === undefined || event.altKey) return;
    // Also after a click has brought the focus here.
    if (event.key !== 'Escape') setFocus(true);
    const { ids } = herd.cells;
    const id = ids[at] ?? '';
    const isCommand = event.ctrlKey || event.metaKey;
    const to = walk(herd.layout, at, event.key, isCommand, herd.isLit);
    if (to !== undefined) {
      if (event.shiftKey) {
        anchor.current ??= id;
        select(to, true);
      } else anchor.current = undefined;
      setActive(ids[to] ?? '');
      setPeekOff(false);
    } else if (event.key === 'Enter' && !isCommand) go(hrefIn('bots', id));
    else if (event.key === ' ') select(at, false);
    else if (event.key === 'a' && isCommand) {
      setSelected(new Set(ids.filter((_, index) => herd.isLit(index))));
    } else if (event.key === 'Escape') {
      // One thing at a time.
      if (pointer.cancel()) setPeekOff(false);
      else if (hasFocus && !isPeekOff) setPeekOff(true);
      else setSelected(new Set());
    } else return;
    event.preventDefault();
  };

  useEffect(() => {
    if (hasFocus)
      list.current?.querySelector('[role=option]')?.scrollIntoView({ block: 'nearest' });
  }, [at, hasFocus]);

  const block = herd && at !== undefined ? blockOf(herd.layout, at) : undefined;
  const cursor = herd && at !== undefined ? boxOf(herd.layout, at) : undefined;
  const peeked =
    pointer.over ?? (hasFocus && !isPeekOff && pointer.line.length === 0 ? at : undefined);
  const peekBox = herd && peeked !== undefined ? boxOf(herd.layout, peeked) : undefined;
  const over = herd && pointer.over !== undefined ? boxOf(herd.layout, pointer.over) : undefined;
  const activeId = herd && at !== undefined ? (herd.cells.ids[at] ?? '') : '';
  return (
    <div
      ref={elements.box}
      class="herd-box"
      data-herd={herd?.layout.count}
      style={{ height: `${herd?.layout.height ?? 0}px` }}
    >
      <div class="herd-drawn" aria-hidden="true">
        <canvas ref={elements.pulses} />
        <canvas ref={elements.cells} />
        <canvas ref={elements.marks} />
        {herd ? <Titles herd={herd} /> : null}
      </div>
      <div
        ref={list}
        class={`herd-cells${isSelecting ? ' is-selecting' : ''}${pointer.over === undefined ? '' : ' is-over'}`}
        role="listbox"
        aria-label={title()}
        aria-describedby={hint}
        aria-multiselectable="true"
        aria-activedescendant={activeId === '' ? undefined : 'herd-cell'}
        tabIndex={0}
        onKeyDown={onKeyDown}
        onFocus={({ currentTarget }) => setFocus(currentTarget.matches(':focus-visible'))}
        onBlur={() => setFocus(false)}
        {...pointer.handlers}
      >
        {activeId === '' || !cursor ? null : (
          <div
            role="option"
            id="herd-cell"
            class={hasFocus ? 'herd-cursor is-shown' : 'herd-cursor'}
            style={boxStyle(cursor)}
            aria-selected={selected.has(activeId)}
            aria-setsize={herd?.layout.count}
            aria-posinset={(at ?? 0) + 1}
            aria-label={[activeId, statusText(herd?.cells.statuses[at ?? 0] ?? ''), block?.title]
              .filter((part) => part)
              .join(', ')}
          />
        )}
      </div>
      <span id={hint} class="unseen">
        {t('herd.keys')}
      </span>
      {herd ? <HerdSummary herd={herd} /> : null}
      {over ? <div class="herd-over" style={boxStyle(over)} aria-hidden="true" /> : null}
      {pointer.line.length > 1 ? (
        <svg class="lasso" aria-hidden="true">
          <polygon points={pointer.line.map((point) => point.join()).join(' ')} />
        </svg>
      ) : null}
      {herd && peekBox && peeked !== undefined && bots().has(herd.cells.ids[peeked] ?? '') ? (
        <Peek
          id={herd.cells.ids[peeked] ?? ''}
          status={herd.cells.statuses[peeked] ?? ''}
          cell={peekBox}
          width={elements.box.current?.clientWidth ?? 0}
        />
      ) : null}
    </div>
  );
}

/** The names of the groups. A click on one selects its bots; with keys, Shift with Home or End does. */
function Titles({ herd: { layout, cells } }: { herd: HerdScene }) {
  return (
    <div class="herd-titles">
      {layout.blocks.map(({ key, title, first, count, x, y }, at) => {
        if (title === '') return null;
        const next = layout.blocks[at + 1];
        let wrong = 0;
        for (let index = first; index < first + count; index++) {
          const state = cells.states[index];
          if (state === 'bad' || state === 'held') wrong += 1;
        }
        return (
          <div
            key={key}
            class="herd-title"
            // Up to the next one, not only over its cells: else it is cut beside free space.
            style={{
              left: `${x}px`,
              top: `${y}px`,
              width: next?.y === y ? `${next.x - x}px` : `calc(100% - ${x}px)`,
            }}
          >
            <span class="herd-title-name">{visible(title)}</span>
            <span class="muted">{numberText(count)}</span>
            {wrong > 0 ? (
              <span class="herd-title-wrong">{t('herd.down', { n: wrong })}</span>
            ) : null}
          </div>
        );
      })}
    </div>
  );
}

function firstLit(herd: HerdScene | undefined): number | undefined {
  if (!herd) return undefined;
  const at = herd.cells.ids.findIndex((_, index) => herd.isLit(index));
  return at < 0 ? undefined : at;
}

function boxStyle({
  x,
  y,
  width,
  height,
}: {
  x: number;
  y: number;
  width: number;
  height: number;
}) {
  return { transform: `translate(${x}px, ${y}px)`, width: `${width}px`, height: `${height}px` };
}
