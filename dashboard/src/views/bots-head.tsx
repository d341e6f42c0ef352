import { useRef } from 'preact/hooks';
import { setWidth } from '../model/columns.js';
import { Icon } from '../parts/icons.js';
import { useRefocus } from '../parts/refocus.js';
import { t } from '../texts/text.js';
import { type Column, moved } from './bots-columns.js';
import { change, type Query } from './bots-query.js';

/** By one press of a key, in px. */
const STEP_PX = 16;

interface Props {
  query: Query;
  columns: readonly Column[];
  areAll: boolean;
  onAll: () => void;
  onMove: (names: readonly string[]) => void;
}

export function Head({ query, columns, areAll, onAll, onMove }: Props) {
  const dragged = useRef<string | undefined>(undefined);
  const refocus = useRefocus();
  const names = columns.map(({ name }) => name);
  // The column that is sorted by need not be shown.
  const sorted = names.includes(query.sort) ? query.sort : undefined;
  const onKey = (event: KeyboardEvent, name: string): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0 || !event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey) {
      refocus(`.bots-list [data-column="${CSS.escape(name)}"] .sort`);
      onMove(moved(names, name, by));
    } else setWidth(name, widthOf(event.currentTarget as HTMLElement) + by * STEP_PX);
  };
  return (
    <div class="list-head bots-row" role="row" aria-rowindex={1}>
      <span class="cell-check" role="columnheader">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t('bots.selectAll')}
          checked={areAll}
          onChange={onAll}
        />
      </span>
      {columns.map(({ name, title, field }) => {
        const isSorted = sorted === name;
        return (
          <span
            key={name}
            class={`cell-${classOf(name)}`}
            role="columnheader"
            data-column={name}
            aria-sort={
              field ? (isSorted ? (query.isDown ? 'descending' : 'ascending') : 'none') : undefined
            }
            draggable
            onDragStart={() => {
              dragged.current = name;
            }}
            onDragOver={(event) => dragged.current !== undefined && event.preventDefault()}
            onDrop={(event) => {
              event.preventDefault();
              const from = dragged.current;
              dragged.current = undefined;
              if (from === undefined || from === name) return;
              onMove(moved(names, from, names.indexOf(name) - names.indexOf(from)));
            }}
          >
            <button
              type="button"
              class="sort"
              tabIndex={name === (sorted ?? names[0]) ? 0 : -1}
              title={`${name}\n${t('columns.keys')}`}
              aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight Control+Shift+ArrowLeft Control+Shift+ArrowRight"
              // Not `disabled`: its column can be moved and resized.
              aria-disabled={field === undefined}
              onKeyDown={(event) => onKey(event, name)}
              onClick={() =>
                field && change(query, { sort: name, isDown: isSorted ? !query.isDown : false })
              }
            >
              <span>{title}</span>
              {isSorted ? <Icon name={query.isDown ? 'down' : 'up'} /> : null}
            </button>
            <Resizer name={name} />
          </span>
        );
      })}
    </div>
  );
}

/** Part of the class of a column's cells: the name of a field can have any characters. */
export function classOf(name: string): string {
  return name.includes('.') ? 'field' : name;
}

/** Drags the right edge of a column; a double click gives it its own width. */
function Resizer({ name }: { name: string }) {
  const start = useRef<{ x: number; width: number } | undefined>(undefined);
  return (
    // The keyboard does the same from the button beside it.
    <span
      class="resizer"
      aria-hidden="true"
      draggable
      onDragStart={(event) => {
        // It is no drag of the column.
        event.preventDefault();
        event.stopPropagation();
      }}
      onDblClick={() => setWidth(name, undefined)}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: widthOf(event.currentTarget) };
      }}
      onPointerMove={({ clientX }) => {
        const { current } = start;
        if (current) setWidth(name, current.width + clientX - current.x);
      }}
      onPointerUp={() => {
        start.current = undefined;
      }}
    />
  );
}

function widthOf(element: HTMLElement): number {
  return element.closest<HTMLElement>('[role=columnheader]')?.offsetWidth ?? 0;
}
