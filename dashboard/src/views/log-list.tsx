// The rows of a log with the titles of its columns. It takes one Tab stop: the list has the focus, and says which row and cell
// the arrows have reached. So the focus survives when a row is removed or drawn again.

import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { usualLength } from '../columns/column.js';
import { ColumnTitles } from '../columns/column-titles.js';
import type { ChosenColumns } from '../columns/use-columns.js';
import type { Line } from '../hub/messages.js';
import { bots, botsVersion } from '../model/live.js';
import { settings } from '../model/settings.js';
import { NEVER, useThrottled } from '../model/throttle.js';
import { day } from '../model/time.js';
import { moveInRow } from '../parts/row-keys.js';
import { VirtualList } from '../parts/virtual-list.js';
import type { Picked } from '../query/edit-query.js';
import { AROUND, type LogCells, rowId, valueIn } from './log-cells.js';
import { LOG_TABLE, logStyle } from './log-columns.js';
import { rowHeightFor } from './log-layout.js';
import { LogRow } from './log-row.js';

/** A line names neither kind nor node: they are those of its bot, which may change, or be known later. */
const BOTS_REDRAW_MS = 1000;

interface Props {
  label: string;
  /** Begins the ids of its rows, which are there once in a page. */
  name: string;
  /** As they are chosen. */
  chosen: ChosenColumns;
  /** As this log has them. */
  columns: ChosenColumns['columns'];
  cells: LogCells;
  isNarrow: boolean;
  count: number;
  /** Number of the first row. */
  base: number;
  lineAt: (index: number) => Line | undefined;
  /** Shown instead of the text while a line is read. */
  missing?: ComponentChildren;
  /** Index of the row at the cursor; -1 for none. */
  cursor: number;
  look: (line: Line, index: number) => { isSelected: boolean; isPair?: boolean; took?: string };
  mark?: string;
  today: string;
  clockOf?: ((line: Line) => string) | undefined;
  onChoose: (index: number, isRange: boolean) => void;
  onPick?: (what: Picked) => void;
  /** Shows the lines around the row at the cursor. */
  onAround?: () => void;
  onKeyDown?: (event: KeyboardEvent) => void;
  isFollowing?: boolean;
  onEnd?: (isAtEnd: boolean) => void;
  onNearTop?: () => void;
  onNearEnd?: () => void;
  reveal: number | undefined;
  revealKey: unknown;
}

/** Names whose lengths are known; of more, those say how long names are. */
const MAX_NAMED = 1000;

function lengthOf(names: ReadonlySet<string>): number {
  return usualLength([...names].map(({ length }) => length));
}

export function LogList(props: Props) {
  const { name, chosen, columns, cells, isNarrow, count, cursor, today } = props;
  const { lineAt, look, mark = '', clockOf, onChoose, onPick, onAround } = props;
  const [chars, setChars] = useState<Readonly<Record<string, number>>>({});
  /** Names that were drawn, and the longest id of an event. */
  const named = useRef({ bots: new Set<string>(), scopes: new Set<string>(), event: 0 });
  /** The indexes of the rows that were drawn, by the ids of their lines. */
  const drawn = useRef(new Map<string, number>());
  drawn.current.clear();
  const current = cursor < 0 ? undefined : lineAt(cursor);
  const cell = current?.level === 'gap' ? undefined : cells.cell;
  const active = current && rowId(name, current.id, cell);
  useLayoutEffect(() => {
    const element = cell && active ? document.getElementById(active) : undefined;
    element?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [cell]);
  const first = clockOf ? undefined : lineAt(0);
  const isDated = first !== undefined && day(first.at) !== today;
  const style = logStyle(columns, chosen.widths, { isNarrow, isDated, chars });
  // Drawn again only when they change; the list is drawn with every line.
  const titles = useMemo(
    () =>
      isNarrow ? null : (
        <div class="list-head log-head" role="row">
          <ColumnTitles
            table={LOG_TABLE}
            columns={columns}
            classOf={(column) => `cell-${column}`}
            onMove={(names) => chosen.choose(withHidden(names, chosen.columns))}
          />
        </div>
      ),
    [columns, chosen.columns, isNarrow],
  );
  const { zone } = settings.value;
  const isOfBots = columns.some(({ name: column }) => column === 'kind' || column === 'node');
  useThrottled(isOfBots ? botsVersion : NEVER, BOTS_REDRAW_MS);
  const measure = ({ bot, scope, id }: Line): void => {
    const { bots: ofBots, scopes: ofScopes, event } = named.current;
    const isKnown = (bot === null || ofBots.has(bot)) && ofScopes.has(scope) && id.length <= event;
    if (isKnown || ofBots.size + ofScopes.size > MAX_NAMED) return;
    if (bot !== null) ofBots.add(bot);
    ofScopes.add(scope);
    named.current.event = Math.max(event, id.length);
    // After this drawing.
    queueMicrotask(() =>
      setChars({ bot: lengthOf(ofBots), scope: lengthOf(ofScopes), event: named.current.event }),
    );
  };
  /** What Enter and a click do with a part of a row. @returns whether there is something to do. */
  const take = (part: Element | null | undefined, isNot: boolean): boolean => {
    const what = valueIn(part, isNot);
    if (!what || !onPick) return false;
    onPick(what);
    return true;
  };
  return (
    <VirtualList
      class="log-list"
      count={count}
      base={props.base}
      rowHeight={rowHeightFor(isNarrow)}
      isFollowing={props.isFollowing ?? false}
      {...(props.onEnd ? { onEnd: props.onEnd } : {})}
      {...(props.onNearTop ? { onNearTop: props.onNearTop } : {})}
      {...(props.onNearEnd ? { onNearEnd: props.onNearEnd } : {})}
      reveal={props.reveal}
      revealKey={props.revealKey}
      header={titles}
      attributes={{
        role: 'grid',
        'aria-label': props.label,
        'aria-multiselectable': true,
        // How many there are changes with each line.
        'aria-rowcount': -1,
        'aria-activedescendant': active,
        tabIndex: 0,
        style,
        onClick: (event) => {
          const target = event.target as HTMLElement;
          // Keep a text selection made with the mouse.
          if (String(getSelection()) !== '') return;
          if (!event.shiftKey && take(target.closest('[data-field]'), event.altKey)) return;
          if (target.closest('[data-around]')) return onAround?.();
          const id = target.closest<HTMLElement>('[data-id]')?.dataset['id'];
          const index = id === undefined ? undefined : drawn.current.get(id);
          if (index !== undefined) onChoose(index, event.shiftKey);
        },
        onKeyDown: (event) => {
          moveInRow(event);
          if (event.defaultPrevented || event.target !== event.currentTarget) return;
          if (event.key === 'Enter' && cell !== undefined && active && !event.ctrlKey) {
            const part = document.getElementById(active);
            if (cell === AROUND) onAround?.();
            const isDone =
              cell === AROUND || take(part?.querySelector('[data-field]'), event.altKey);
            if (isDone) {
              event.preventDefault();
              return;
            }
          }
          props.onKeyDown?.(event);
        },
      }}
      row={(index) => {
        const line = lineAt(index);
        if (!line) return props.missing;
        drawn.current.set(line.id, index);
        measure(line);
        const bot = line.bot === null ? undefined : bots.get(line.bot);
        return (
          <LogRow
            line={line}
            columns={columns}
            mark={mark}
            isCursor={index === cursor}
            cell={index === cursor ? cell : undefined}
            hasAround={onAround !== undefined}
            today={today}
            zone={zone}
            name={name}
            kind={bot?.kind}
            node={bot?.node}
            clock={clockOf?.(line)}
            {...look(line, index)}
          />
        );
      }}
    />
  );
}

/** The order of the columns that this log has, with those of the choice that it does not have where they were. */
function withHidden(names: readonly string[], all: ChosenColumns['columns']): string[] {
  const rest = [...names];
  return all.map(({ name }) => (names.includes(name) ? (rest.shift() ?? name) : name));
}
