// Two to six logs on one time axis: a column for each. They scroll together.

import { useMemo, useState } from 'preact/hooks';
import { loaded } from '../model/live.js';
import { markOf } from '../model/log-filter.js';
import type { LogWindow } from '../model/log-window.js';
import { settings } from '../model/settings.js';
import { day, serverNow } from '../model/time.js';
import { presentBounds, timeRange } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { ViewHead } from '../parts/view-head.js';
import { VirtualList } from '../parts/virtual-list.js';
import { RangePicker } from '../range/range-picker.js';
import { useKeys } from '../shell/keys.js';
import { t } from '../texts/text.js';
import { botOf, hrefOfConfigs, shownQueries } from './side-address.js';
import { SideQueries } from './side-queries.js';
import { Heads, RowCells, titleOf, WholeRow } from './side-row.js';
import { type Side, useSide } from './use-side.js';

export function SideView() {
  const queries = shownQueries();
  const range = timeRange.value;
  const bounds = useMemo(presentBounds, [range]);
  const [isFollowing, setFollowing] = useState(range.momentMs === undefined);
  const side = useSide(queries, bounds, range.momentMs, isFollowing);
  const ids = queries.flatMap((query) => botOf(query) ?? []);
  const [one, other] = ids;
  return (
    <div class="view-full side-view">
      <ViewHead title={t('page.side')}>
        {ids.length === 2 && one !== undefined && other !== undefined && one !== other ? (
          <a class="button" href={hrefOfConfigs(one, other)}>
            {t('page.diff')}
          </a>
        ) : null}
        <RangePicker />
      </ViewHead>
      <SideQueries queries={queries} />
      {queries.length === 0 ? (
        <p class="empty muted">{t('side.hint')}</p>
      ) : (
        <Rows
          queries={queries}
          side={side}
          momentMs={range.momentMs}
          isLive={range.toMs === undefined}
          isFollowing={isFollowing}
          setFollowing={setFollowing}
        />
      )}
    </div>
  );
}

interface RowsProps {
  queries: readonly string[];
  side: Side;
  momentMs: number | undefined;
  isLive: boolean;
  isFollowing: boolean;
  setFollowing: (isFollowing: boolean) => void;
}

function Rows({ queries, side, momentMs, isLive, isFollowing, setFollowing }: RowsProps) {
  const { rows, base, windows } = side;
  const [cursor, setCursor] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const [reveal, setReveal] = useState<{ key: string }>();
  const momentAt = momentMs === undefined ? -1 : rows.findIndex(({ at }) => at >= momentMs);
  const momentKey = rows[momentAt]?.key;
  const at = rows.findIndex(({ key }) => key === (cursor ?? momentKey));
  const chosen = rows[at];
  const follow = (): void => {
    side.catchUp();
    setFollowing(true);
  };
  const go = (index: number): void => {
    const next = rows[Math.max(0, Math.min(rows.length - 1, index))];
    if (!next) return;
    setFollowing(false);
    setCursor(next.key);
    setReveal({ key: next.key });
  };
  const step = (by: number): void => go((at < 0 ? rows.length : at) + by);
  useKeys(t('page.side'), [
    { keys: 'j', does: t('side.nextRow'), run: () => step(1) },
    { keys: 'k', does: t('side.previousRow'), run: () => step(-1) },
    { keys: 'ArrowDown', does: t('side.nextRow'), run: () => step(1) },
    { keys: 'ArrowUp', does: t('side.previousRow'), run: () => step(-1) },
    { keys: 'Enter', does: t('side.toggleLines'), run: () => setOpen(!isOpen) },
    {
      keys: ' ',
      does: t('log.pauseOrFollow'),
      run: () => (isFollowing ? setFollowing(false) : follow()),
    },
    { keys: 'G', does: t('log.jumpAndFollow'), run: follow },
    { keys: 'Escape', does: t('side.closeRowLines'), run: () => setOpen(false) },
  ]);
  const { density } = settings.value;
  const today = day(serverNow());
  const marks = queries.map((query) => markOf({ query, bot: undefined }));
  const revealKey = reveal?.key ?? momentKey;
  const revealAt = rows.findIndex(({ key }) => key === revealKey);
  const columns = { '--logs': queries.length };
  return (
    <>
      <VirtualList
        class="side-list"
        count={rows.length}
        base={base}
        rowHeight={density === 'compact' ? 20 : 24}
        isFollowing={isFollowing}
        onEnd={(isAtEnd) => {
          if (!isAtEnd) setFollowing(false);
          else if (isLive && windows.every(({ isJoined }) => isJoined.peek())) follow();
        }}
        onNearTop={side.older}
        onNearEnd={side.newer}
        reveal={revealAt < 0 ? undefined : revealAt}
        revealKey={reveal ?? momentKey}
        header={<Heads queries={queries} windows={windows} columns={columns} />}
        attributes={{
          role: 'listbox',
          'aria-label': t('side.lines'),
          'aria-activedescendant': chosen ? `side-${chosen.key}` : undefined,
          tabIndex: 0,
          style: columns,
          onClick: ({ target }) => {
            const row = (target as HTMLElement).closest<HTMLElement>('[data-key]');
            if (!row || String(getSelection()) !== '') return;
            setFollowing(false);
            setCursor(row.dataset['key']);
            setOpen(true);
          },
        }}
        row={(index) => {
          const row = rows[index];
          if (!row) return null;
          const titles = queries.map(titleOf);
          return <RowCells {...{ row, titles, marks, today }} isCursor={index === at} />;
        }}
      />
      <footer class="log-foot">
        <span>
          {t('side.rows', { n: rows.length })}
          {rows.length === 0 ? `, ${emptyText(windows)}` : ''}
        </span>
        {isLive ? (
          <button
            type="button"
            class={isFollowing ? 'follow is-on' : 'follow'}
            onClick={() => (isFollowing ? setFollowing(false) : follow())}
          >
            <Icon name={isFollowing ? 'pause' : 'follow'} />
            <span>{isFollowing ? t('log.pause') : t('log.follow')}</span>
          </button>
        ) : null}
      </footer>
      {isOpen && chosen ? (
        <WholeRow row={chosen} queries={queries} onClose={() => setOpen(false)} />
      ) : null}
    </>
  );
}

function emptyText(windows: readonly LogWindow[]): string {
  const failed = windows.find(({ top }) => top.value === 'failed' || top.value === 'off');
  const { value: isKnown, error } = loaded.value;
  const reason = failed?.topError.value ?? (isKnown ? undefined : error?.message);
  if (reason !== undefined) return t('log.notLoaded', { reason });
  const isSearching =
    !isKnown || windows.some(({ top }) => top.value === 'loading' || top.value === 'more');
  return isSearching ? t('side.loading') : t('side.noMatch');
}
