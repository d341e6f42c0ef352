// The lines of a run that its query lets through, in a time range. Rows are read from the file when they come into view.

import { useEffect, useMemo, useState } from 'preact/hooks';
import { visible, withoutEscapes } from '../../../src/shared/contract/escapes.js';
import { markOf } from '../model/log-filter.js';
import { day, fullTime } from '../model/time.js';
import { useWidth } from '../model/width.js';
import { CloseButton } from '../parts/close-button.js';
import { copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { picked } from '../query/edit-query.js';
import { t } from '../texts/text.js';
import { useLogCells } from '../views/log-cells.js';
import { useLogColumns } from '../views/log-columns.js';
import { NARROW_PX } from '../views/log-layout.js';
import { LogList } from '../views/log-list.js';
import { noteText } from './note-text.js';
import type { OpenRun } from './open-runs.js';
import type { RunLine } from './recording.js';
import { showInRun } from './run-address.js';
import { sinceText } from './run-time.js';
import { SearchState } from './search-state.js';
import type { Selection } from './use-selection.js';

/** Rows of one list: browsers bound how high an element may be. Buttons lead to those before and after. */
const MAX_ROWS = 300_000;
/** Columns that are about the bots of now. */
const OF_NOW: readonly string[] = ['kind', 'node'];
/** Rows below the one at a moment that come into view with it. */
const BELOW = 6;

interface Props {
  run: OpenRun;
  selection: Selection;
  query: string;
  afterMs: number | undefined;
  beforeMs: number | undefined;
  atMs: number | undefined;
}

export function RunLog({ run, selection, query, afterMs, beforeMs, atMs }: Props) {
  const { count, isDone, error, row } = selection;
  const places = usePlaces(run, selection, { afterMs, beforeMs, atMs });
  const [begin, setBegin] = useState<number>();
  const [cursor, setCursor] = useState<number>();
  const [isOpen, setOpen] = useState(false);
  const [reveal, setReveal] = useState({ below: 0 });
  // What was chosen may not be among the rows of another query.
  useEffect(() => {
    setCursor(undefined);
    setOpen(false);
  }, [query]);
  useEffect(() => {
    if (places?.at === undefined) return;
    setBegin(undefined);
    setCursor(places.at);
    setReveal({ below: BELOW });
  }, [places?.at, atMs]);
  const isNarrow = useWidth() < NARROW_PX;
  const chosenColumns = useLogColumns(isNarrow);
  const columns = useMemo(
    () => chosenColumns.columns.filter((column) => !OF_NOW.includes(column.name)),
    [chosenColumns.columns],
  );
  const cells = useLogCells(columns);
  const { from, to } = places ?? { from: 0, to: 0 };
  const first = Math.max(
    from,
    Math.min(begin ?? (places?.at ?? from) - MAX_ROWS / 2, to - MAX_ROWS),
  );
  const shown = Math.min(MAX_ROWS, to - first);
  const step = (by: number): void => {
    const next = Math.max(first, Math.min(first + shown - 1, (cursor ?? first - 1) + by));
    if (shown === 0) return;
    setCursor(next);
    setReveal({ below: 0 });
  };
  const press = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { key } = event;
    const by = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 20, PageUp: -20 }[key];
    const cellBy = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (by !== undefined) step(by);
    else if (cellBy !== undefined) {
      if (cursor === undefined) step(1);
      cells.move(cellBy);
    } else if (key === 'Home') step(-MAX_ROWS);
    else if (key === 'End') step(MAX_ROWS);
    else if (key === 'Enter' && cursor !== undefined) setOpen(!isOpen);
    else if (key === 'Escape' && isOpen) setOpen(false);
    else if (key === 'Escape' && cells.cell !== undefined) cells.leave();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const chosen = cursor === undefined ? undefined : row(cursor);
  const mark = markOf({ query, bot: undefined });
  const today = day(run.facts?.recording?.startedAtMs ?? 0);
  const move = (by: number): void => setBegin(Math.max(from, Math.min(to - MAX_ROWS, first + by)));
  return (
    <div class={`log-pane run-log${isNarrow ? ' is-narrow' : ''}`}>
      {error === undefined ? null : (
        <p class="run-note bad" role="alert">
          {t('runs.notShown', { reason: noteText(error) })}
        </p>
      )}
      <SearchState selection={selection} />
      {to - from > MAX_ROWS ? (
        <p class="run-note">
          {t('runs.linesShown', {
            from: first - from + 1,
            to: first - from + shown,
            all: to - from,
          })}
          <button type="button" disabled={first <= from} onClick={() => move(-MAX_ROWS)}>
            {t('runs.earlier')}
          </button>
          <button type="button" disabled={first + shown >= to} onClick={() => move(MAX_ROWS)}>
            {t('runs.later')}
          </button>
        </p>
      ) : null}
      {shown <= 0 ? (
        <p class="empty muted" data-run-rows={0}>
          {!isDone || !places
            ? t('runs.searching')
            : count === 0
              ? t('runs.noMatch')
              : t('runs.noLines')}
        </p>
      ) : (
        <LogList
          label={t('runs.linesOf', { name: run.name })}
          name="run-line"
          chosen={chosenColumns}
          columns={columns}
          cells={cells}
          isNarrow={isNarrow}
          count={shown}
          base={first}
          lineAt={(index) => row(first + index)}
          missing={
            <div class="log-row muted" role="row">
              <span class="unseen" role="gridcell">
                {t('runs.readingLine')}
              </span>
            </div>
          }
          cursor={cursor === undefined ? -1 : cursor - first}
          look={(_line, index) => ({ isSelected: first + index === cursor })}
          mark={mark}
          today={today}
          clockOf={(line) => sinceText((line as RunLine).sinceMs)}
          onChoose={(index) => {
            setCursor(first + index);
            cells.leave();
            setOpen(true);
          }}
          onPick={(what) => showInRun({ query: picked(query, 'lines', what) })}
          onKeyDown={press}
          reveal={
            cursor === undefined ? undefined : Math.min(shown - 1, cursor - first + reveal.below)
          }
          revealKey={reveal}
        />
      )}
      {isOpen && chosen ? <WholeLine line={chosen} onClose={() => setOpen(false)} /> : null}
    </div>
  );
}

interface Bounds {
  afterMs: number | undefined;
  beforeMs: number | undefined;
  atMs: number | undefined;
}

/** Where the range and the moment are among the chosen rows. Undefined until that is known. */
function usePlaces({ link }: OpenRun, { count, isDone }: Selection, bounds: Bounds) {
  const { afterMs, beforeMs, atMs } = bounds;
  const [places, setPlaces] = useState<{ from: number; to: number; at: number | undefined }>();
  useEffect(() => {
    let isGone = false;
    const index = (ms: number | undefined, otherwise: number): Promise<number> | number =>
      ms === undefined ? otherwise : link.ask('indexAt', [ms]);
    Promise.all([index(afterMs, 0), index(beforeMs, count), index(atMs, -1)]).then(
      ([from, to, at]) => {
        if (isGone) return;
        const last = to - 1;
        const isThere = at >= 0 && isDone && last >= from;
        setPlaces({ from, to, at: isThere ? Math.max(from, Math.min(last, at)) : undefined });
      },
      // The selection says what is wrong.
      () => {},
    );
    return () => {
      isGone = true;
    };
  }, [link, count, isDone, afterMs, beforeMs, atMs]);
  return places;
}

function WholeLine({ line, onClose }: { line: RunLine; onClose: () => void }) {
  const { level, at, scope, bot, dir, transport, text, sinceMs } = line;
  return (
    <section class="whole" aria-label={t('log.details')}>
      <header>
        <Level level={level} />
        <time>
          {sinceText(sinceMs)}, {fullTime(at)}
        </time>
        {scope === '' ? null : <span>{visible(scope)}</span>}
        {bot === null ? null : <span>{visible(bot)}</span>}
        {dir === null ? null : (
          <span class={`dir-${dir}`}>
            {t(dir === 'in' ? 'log.incomingArrow' : 'log.outgoingArrow')} {transport}
          </span>
        )}
        <span class="whole-actions">
          <button type="button" onClick={() => showInRun({ query: '', atMs: sinceMs })}>
            <Icon name="log" />
            {t('runs.surroundings')}
          </button>
          <button type="button" onClick={() => void copy(withoutEscapes(text), t('term.line'))}>
            <Icon name="copy" />
            {t('button.copy')}
          </button>
          <CloseButton name={t('log.closeDetails')} onClick={onClose} />
        </span>
      </header>
      <TextBox name={t('log.message')}>
        <LineText text={text} isWhole />
      </TextBox>
    </section>
  );
}
