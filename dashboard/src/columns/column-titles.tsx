import { useRef } from 'preact/hooks';
import { Icon } from '../parts/icons.js';
import { useRefocus } from '../parts/refocus.js';
import { t } from '../texts/text.js';
import { setWidth } from './choice.js';
import { type Column, type ColumnTable, moved, type TableName } from './column.js';

/** By one press of a key, in px. */
const STEP_PX = 16;

interface Sorting {
  by: string;
  isDown: boolean;
  can: (name: string) => boolean;
  sort: (name: string) => void;
}

interface Props {
  table: ColumnTable;
  columns: readonly Column[];
  /** `th` in a table of HTML. */
  as?: 'span' | 'th';
  /** Class of a title's cell. */
  classOf?: (name: string) => string | undefined;
  /** Undefined for a table that cannot be sorted. */
  sorting?: Sorting;
  onMove: (names: readonly string[]) => void;
}

/** The titles of the columns, as cells of the first row: one Tab stop, from which columns are moved and resized. */
export function ColumnTitles({ table, columns, as: Cell = 'span', ...props }: Props) {
  const { classOf, sorting, onMove } = props;
  const dragged = useRef<string | undefined>(undefined);
  const refocus = useRefocus();
  const names = columns.map(({ name }) => name);
  // The column that is sorted by need not be shown.
  const sorted = sorting && names.includes(sorting.by) ? sorting.by : undefined;
  const onKey = (event: KeyboardEvent, name: string): void => {
    const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (by === 0 || !event.shiftKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.ctrlKey || event.metaKey) {
      // At the end nothing is drawn again, so the request for the focus would stay pending.
      if (names[names.indexOf(name) + by] === undefined) return;
      refocus(`[data-titles=${table.name}][data-column="${CSS.escape(name)}"] .sort`);
      onMove(moved(names, name, by));
    } else setWidth(table.name, name, widthOf(event.currentTarget as HTMLElement) + by * STEP_PX);
  };
  return (
    <>
      {columns.map(({ name, title, sign }) => {
        const isSorted = sorted === name;
        const canSort = sorting?.can(name) ?? false;
        return (
          <Cell
            key={name}
            class={classOf?.(name)}
            role="columnheader"
            data-titles={table.name}
            data-column={name}
            aria-sort={
              canSort
                ? isSorted
                  ? sorting?.isDown
                    ? 'descending'
                    : 'ascending'
                  : 'none'
                : undefined
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
              title={`${name.includes('.') ? name : title}\n${t('columns.keys')}`}
              aria-keyshortcuts="Shift+ArrowLeft Shift+ArrowRight Control+Shift+ArrowLeft Control+Shift+ArrowRight"
              // Not `disabled`: its column can be moved and resized.
              aria-disabled={!canSort}
              onKeyDown={(event) => onKey(event, name)}
              onClick={() => canSort && sorting?.sort(name)}
            >
              {sign === undefined ? null : <span aria-hidden="true">{sign}</span>}
              <span class={sign === undefined ? undefined : 'unseen'}>{title}</span>
              {isSorted ? <Icon name={sorting?.isDown ? 'down' : 'up'} /> : null}
            </button>
            <Resizer table={table.name} name={name} />
          </Cell>
        );
      })}
    </>
  );
}

/** Drags the right edge of a column; a double click gives it its own width. */
function Resizer({ table, name }: { table: TableName; name: string }) {
  const start = useRef<{ x: number; width: number } | undefined>(undefined);
  const end = (): void => {
    start.current = undefined;
  };
  return (
    // The keyboard does the same from the button beside it.
    <span
      class="resizer"
      aria-hidden="true"
      draggable
      onDragStart={(event) => {
        // This is not a drag of the column.
        event.preventDefault();
        event.stopPropagation();
      }}
      onDblClick={() => setWidth(table, name, undefined)}
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
        start.current = { x: event.clientX, width: widthOf(event.currentTarget) };
      }}
      onPointerMove={({ clientX }) => {
        const { current } = start;
        if (current) setWidth(table, name, current.width + clientX - current.x);
      }}
      onPointerUp={end}
      onPointerCancel={end}
    />
  );
}

function widthOf(element: HTMLElement): number {
  return element.closest<HTMLElement>('[role=columnheader]')?.offsetWidth ?? 0;
}
