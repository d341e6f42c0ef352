// A log with its toolbar, for all bots or for one.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ColumnsMenu } from '../columns/columns-menu.js';
import type { Line } from '../hub/messages.js';
import { serviceUrl } from '../hub/service-address.js';
import { recorded } from '../model/event-source.js';
import { isFiltered, type LogFilter, markOf } from '../model/log-filter.js';
import { hrefIn } from '../model/route.js';
import { day, serverNow } from '../model/time.js';
import { useWidth } from '../model/width.js';
import { copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { say } from '../parts/toasts.js';
import { AlertLink } from '../problems/alert-link.js';
import { picked } from '../query/edit-query.js';
import { SavedViewsMenu } from '../query/saved-views-menu.js';
import { sinceText } from '../runs/run-time.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { LogParts } from '../wire/log-parts.js';
import { tookIn, WirePairs } from '../wire/wire-pairs.js';
import {
  type ContextKeys,
  hideAround,
  LineContext,
  showAround,
  useAround,
} from './line-context.js';
import { useLogCells } from './log-cells.js';
import { LOG_TABLE, OF_ITS_BOT, offeredColumns, useLogColumns } from './log-columns.js';
import { Foot, Head, Nothing } from './log-edges.js';
import { NARROW_PX } from './log-layout.js';
import { textOf, Whole } from './log-line.js';
import { LogList } from './log-list.js';
import { LogTimes } from './log-times.js';
import { DownloadMenu, Toolbar } from './log-toolbar.js';
import { useLogWindow } from './use-log-window.js';

interface Props {
  filter: LogFilter;
  onFilter: (query: string) => void;
  /** Shows only the one bot of the filter; others cannot be selected. */
  isOfOne?: boolean;
  /** Id of a line to show, or a moment in ms. */
  at?: string | number | undefined;
}

export function LogPane({ filter, onFilter, isOfOne = false, at }: Props) {
  const [isFollowing, setFollowing] = useState(at === undefined);
  const { fromMs, toMs } = filter.range ?? {};
  const isRange = fromMs !== undefined || toMs !== undefined;
  useEffect(() => setFollowing(at === undefined), [at, fromMs, toMs]);
  const setFilter = (next: string): void => {
    // A new filter starts at the end, or again at the moment.
    setFollowing(typeof at !== 'number');
    onFilter(next);
  };
  const following = useRef(isFollowing);
  following.current = isFollowing;
  const [cursor, setCursor] = useState(typeof at === 'string' ? at : undefined);
  const [anchor, setAnchor] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const [reveal, setReveal] = useState<{ id: string; round: number }>();
  const isNarrow = useWidth() < NARROW_PX;
  const chosenColumns = useLogColumns(isNarrow);
  const columns = useMemo(
    () => chosenColumns.columns.filter(({ name }) => !isOfOne || !OF_ITS_BOT.includes(name)),
    [chosenColumns.columns, isOfOne],
  );
  const cells = useLogCells(columns, true);
  const ofRun = recorded.value;

  const { shown, load } = useLogWindow(filter, at, following, (id) => {
    if (id === undefined) {
      // A recording opens at its start, which the user did not choose.
      if (!ofRun) say(typeof at === 'string' ? t('log.notStored') : t('log.noneAtTime'));
      return;
    }
    setFollowing(false);
    setCursor(id);
    setReveal({ id, round: 0 });
  });
  void shown.version.value;
  const { rows, base } = shown;
  const pairs = useRef(new WirePairs()).current;
  pairs.take(rows, base);

  const cursorAt = cursor === undefined ? -1 : rows.findIndex(({ id }) => id === cursor);
  const anchorAt = anchor === undefined ? -1 : rows.findIndex(({ id }) => id === anchor);
  const [first, last] =
    anchorAt < 0 || cursorAt < 0
      ? [cursorAt, cursorAt]
      : [Math.min(anchorAt, cursorAt), Math.max(anchorAt, cursorAt)];
  const chosen = cursorAt < 0 ? undefined : rows[cursorAt];
  const exchange = chosen && pairs.of(chosen);

  const around = useAround();
  const contextKeys = useRef<ContextKeys | undefined>(undefined);
  const follow = (): void => {
    shown.catchUp();
    setFollowing(true);
  };
  const step = (by: number, isRange = false): void => {
    if (around) {
      contextKeys.current?.step(by);
      return;
    }
    const from = cursorAt < 0 ? rows.length : cursorAt;
    const next = rows[Math.max(0, Math.min(rows.length - 1, from + by))];
    if (!next) return;
    setFollowing(false);
    setAnchor(isRange ? (anchor ?? cursor) : undefined);
    setCursor(next.id);
    bringIntoView(next.id);
  };
  const moveCell = (by: number): void => {
    if (around) {
      contextKeys.current?.moveCell(by);
      return;
    }
    if (chosen) {
      // The row stays where it is while the arrows are in it.
      setFollowing(false);
      bringIntoView(chosen.id);
    } else step(0);
    cells.move(by);
  };
  const bringIntoView = (id: string): void => setReveal({ id, round: (reveal?.round ?? 0) + 1 });
  /** Shows the line's details below the list. */
  const open = (id: string): void => {
    setFollowing(false);
    setOpen(true);
    bringIntoView(id);
  };
  const choose = (line: Line, isRange: boolean): void => {
    setFollowing(false);
    setAnchor(isRange ? (anchor ?? cursor ?? line.id) : undefined);
    setCursor(line.id);
    cells.leave();
  };
  const copyChosen = (): void => {
    const some = first < 0 ? [] : rows.slice(first, last + 1);
    if (some.length === 0) say(t('log.selectFirst'));
    else
      void copy(
        some.map(textOf).join('\n'),
        some.length === 1 ? t('term.line') : t('count.lines', { n: some.length }),
      );
  };
  const copyLink = (): void => {
    if (!chosen) say(t('log.selectFirst'));
    else
      void copy(`${serviceUrl()}/${hrefIn('log', '', { at: chosen.id, to: '' })}`, t('term.link'));
  };

  const openContext = (): void => {
    if (around) hideAround();
    else if (!chosen) say(t('log.selectFirst'));
    else {
      // The line stays where it is while the lines around it are read.
      setFollowing(false);
      showAround(chosen);
    }
  };

  useKeys(t('page.log'), [
    { keys: 'j', does: t('log.next'), run: () => step(1) },
    { keys: 'k', does: t('log.previous'), run: () => step(-1) },
    { keys: 'ArrowDown', does: t('log.next'), run: () => step(1) },
    { keys: 'ArrowUp', does: t('log.previous'), run: () => step(-1) },
    { keys: 'ArrowRight', does: t('log.nextCell'), run: () => moveCell(1) },
    { keys: 'ArrowLeft', does: t('log.previousCell'), run: () => moveCell(-1) },
    { keys: 'J', does: t('log.extendDown'), run: () => step(1, true) },
    { keys: 'K', does: t('log.extendUp'), run: () => step(-1, true) },
    {
      keys: 'Enter',
      does: t('log.toggleDetails'),
      run: () => (isOpen || !chosen ? setOpen(false) : open(chosen.id)),
    },
    {
      keys: ' ',
      does: t('log.pauseOrFollow'),
      run: () => (isFollowing ? setFollowing(false) : follow()),
    },
    { keys: 'G', does: t('log.jumpAndFollow'), run: follow },
    { keys: 'c', does: t('log.copySelected'), run: copyChosen },
    { keys: 'y', does: t('log.copyLink'), run: copyLink },
    { keys: 'x', does: t('log.toggleAround'), run: openContext },
    {
      keys: 'Escape',
      does: t('log.closeOpen'),
      run: () => {
        if (around) hideAround();
        else if (isOpen) setOpen(false);
        else if (cells.cell !== undefined) cells.leave();
        else setCursor(undefined);
      },
    },
  ]);

  const revealAt = reveal ? rows.findIndex(({ id }) => id === reveal.id) : -1;
  const today = day(serverNow());
  const withBot = !isOfOne;
  const isOfService = withBot && !ofRun;
  const mark = markOf(filter);
  return (
    <div
      class={`log-pane${isNarrow ? ' is-narrow' : ''}${withBot ? '' : ' of-one'}${around ? ' has-context' : ''}`}
      data-following={isFollowing}
    >
      <Toolbar filter={filter} onFilter={setFilter}>
        {isOfOne ? <LogParts query={filter.query} onFilter={setFilter} /> : null}
        {toMs === undefined ? (
          <button
            type="button"
            class={isFollowing ? 'follow is-on' : 'follow'}
            onClick={() => (isFollowing ? setFollowing(false) : follow())}
          >
            <Icon name={isFollowing ? 'pause' : 'follow'} />
            <span>{isFollowing ? t('log.pause') : t('log.follow')}</span>
          </button>
        ) : null}
        {isOfService ? <SavedViewsMenu /> : null}
        {isOfService ? <AlertLink query={filter.query} on="lines" /> : null}
        <ColumnsMenu table={LOG_TABLE} chosen={chosenColumns} offer={offeredColumns} />
        <DownloadMenu shown={shown} filter={filter} />
      </Toolbar>
      <LogTimes filter={filter} />
      <Head shown={shown} onMore={load} />
      <div class="log-body">
        <LogList
          label={t('term.lines')}
          name="line"
          chosen={chosenColumns}
          columns={columns}
          cells={cells}
          isNarrow={isNarrow}
          count={rows.length}
          base={base}
          lineAt={(index) => rows[index]}
          cursor={cursorAt}
          look={(line, index) => ({
            isSelected: index >= first && index <= last && first >= 0,
            isPair: exchange !== undefined && pairs.of(line) === exchange,
            took: tookIn(line, pairs.of(line)),
          })}
          mark={mark}
          clockOf={ofRun && ((line) => sinceText(line.at - ofRun.range.fromMs))}
          today={today}
          onChoose={(index, isRange) => {
            const line = rows[index];
            if (!line) return;
            choose(line, isRange);
            if (!isRange) open(line.id);
          }}
          onPick={(what) => setFilter(picked(filter.query, 'lines', what))}
          onAround={openContext}
          isFollowing={isFollowing}
          onEnd={(isAtEnd) => {
            if (!isAtEnd) setFollowing(false);
            else if (shown.isJoined.peek()) follow();
          }}
          onNearTop={() => void shown.older()}
          onNearEnd={() => void shown.newer()}
          reveal={revealAt < 0 ? undefined : revealAt}
          revealKey={reveal}
        />
        {rows.length === 0 ? (
          <Nothing shown={shown} isFiltered={isFiltered(filter)} isRange={isRange} />
        ) : null}
        {around ? (
          <LineContext key={`${around.bot}:${around.id}`} around={around} keys={contextKeys} />
        ) : null}
      </div>
      <Foot shown={shown} isFollowing={isFollowing} isRange={isRange} onFollow={follow} />
      {isOpen && chosen && !around ? (
        <Whole
          line={chosen}
          exchange={exchange}
          onGo={(line) => {
            choose(line, false);
            open(line.id);
          }}
          onClose={() => setOpen(false)}
          onLink={copyLink}
          onContext={openContext}
          query={filter.query}
          onFilter={setFilter}
          withBot={withBot}
        />
      ) : null}
    </div>
  );
}
