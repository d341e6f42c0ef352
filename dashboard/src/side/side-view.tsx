// Two to six logs on one time axis: a column for each. They scroll together.

import { useMemo, useState } from 'preact/hooks';
import { visible } from '../../../src/shared/contract/escapes.js';
import { MAX_QUERY } from '../../../src/shared/contract/query-bounds.js';
import { bots, botsVersion, isLoaded } from '../model/live.js';
import { markOf } from '../model/log-filter.js';
import type { LogWindow } from '../model/log-window.js';
import { settings } from '../model/settings.js';
import { useThrottled } from '../model/throttle.js';
import { clockTime, day, fullTime, serverNow } from '../model/time.js';
import { hrefAt, presentBounds, timeRange } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { Level, Status } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { ViewHead } from '../parts/view-head.js';
import { VirtualList } from '../parts/virtual-list.js';
import { checkedQuery } from '../query/checked-query.js';
import { RangePicker } from '../range/range-picker.js';
import { useKeys } from '../shell/keys.js';
import type { Row } from './align.js';
import { botOf, hrefOfConfigs, MAX_LOGS, shownQueries, showQueries } from './side-address.js';
import { type Side, useSide } from './use-side.js';

const REDRAW_MS = 500;

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
      <ViewHead title="Side by side">
        {ids.length === 2 && one !== undefined && other !== undefined && one !== other ? (
          <a class="button" href={hrefOfConfigs(one, other)}>
            Compare configurations
          </a>
        ) : null}
        <RangePicker />
      </ViewHead>
      <Logs queries={queries} />
      {queries.length === 0 ? (
        <p class="empty muted">
          Add two to six logs, each with a query: bot:demo-1, or level:error scope:tcp.
        </p>
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

/** The queries, as fields. */
function Logs({ queries }: { queries: readonly string[] }) {
  const [isAdding, setAdding] = useState(queries.length === 0);
  return (
    <div class="side-logs" role="group" aria-label="Logs">
      {queries.map((query, at) => (
        <LogField
          key={`${at} ${query}`}
          name={`Query of log ${at + 1}`}
          query={query}
          onChange={(next) =>
            showQueries(
              queries
                .map((text, index) => (index === at ? next : text))
                .filter((text) => text !== ''),
            )
          }
          onRemove={() => showQueries(queries.filter((_, index) => index !== at))}
        />
      ))}
      {isAdding ? (
        <LogField
          key={`new ${queries.length}`}
          name={`Query of log ${queries.length + 1}`}
          query=""
          onChange={(next) => {
            if (next === '') return;
            setAdding(false);
            showQueries([...queries, next]);
          }}
          onRemove={() => setAdding(false)}
        />
      ) : queries.length < MAX_LOGS ? (
        <button type="button" onClick={() => setAdding(true)}>
          <Icon name="add" />
          Add a log
        </button>
      ) : null}
    </div>
  );
}

interface FieldProps {
  name: string;
  query: string;
  onChange: (query: string) => void;
  onRemove: () => void;
}

function LogField({ name, query, onChange, onRemove }: FieldProps) {
  const [text, setText] = useState(query);
  const { error } = checkedQuery(text, 'lines');
  const id = `fault-${name.replaceAll(' ', '-')}`;
  const apply = (): void => {
    if (error === undefined && text.trim() !== query) onChange(text.trim());
  };
  return (
    <form
      class="side-log"
      onSubmit={(event) => {
        event.preventDefault();
        apply();
      }}
    >
      <input
        type="text"
        aria-label={name}
        placeholder="bot:demo-1 level:error"
        autocomplete="off"
        spellcheck={false}
        maxLength={MAX_QUERY}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : id}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onBlur={apply}
      />
      <button
        type="button"
        class="quiet square"
        aria-label={`Remove log: ${text}`}
        onClick={onRemove}
      >
        <Icon name="close" />
      </button>
      {error === undefined ? null : (
        <p class="query-error" id={id} role="status">
          {error}
        </p>
      )}
    </form>
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
  useKeys('Side by side', [
    { keys: 'j', does: 'Next row', run: () => step(1) },
    { keys: 'k', does: 'Previous row', run: () => step(-1) },
    { keys: 'ArrowDown', does: 'Next row', run: () => step(1) },
    { keys: 'ArrowUp', does: 'Previous row', run: () => step(-1) },
    { keys: 'Enter', does: 'Show or hide the lines of the row', run: () => setOpen(!isOpen) },
    {
      keys: ' ',
      does: 'Pause or follow',
      run: () => (isFollowing ? setFollowing(false) : follow()),
    },
    { keys: 'G', does: 'Jump to end and follow', run: follow },
    { keys: 'Escape', does: 'Close the lines of the row', run: () => setOpen(false) },
  ]);
  const { density, zone } = settings.value;
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
          'aria-label': 'Lines side by side',
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
          return <RowCells {...{ row, titles, marks, today, zone }} isCursor={index === at} />;
        }}
      />
      <footer class="log-foot">
        <span>
          {rows.length.toLocaleString('en')} {rows.length === 1 ? 'row' : 'rows'}
          {rows.length === 0 ? `, ${emptyText(windows)}` : ''}
        </span>
        {isLive ? (
          <button
            type="button"
            class={isFollowing ? 'follow is-on' : 'follow'}
            onClick={() => (isFollowing ? setFollowing(false) : follow())}
          >
            <Icon name={isFollowing ? 'pause' : 'follow'} />
            <span>{isFollowing ? 'Pause' : 'Follow'}</span>
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
  const isSearching =
    !isLoaded.value || windows.some(({ top }) => top.value === 'loading' || top.value === 'more');
  return isSearching ? 'loading…' : 'no lines match';
}

function titleOf(query: string): string {
  return botOf(query) ?? query;
}

interface HeadsProps {
  queries: readonly string[];
  windows: readonly LogWindow[];
  columns: Record<string, number>;
}

/** Above each column: whose lines it has, and what is missing of them. */
function Heads({ queries, windows, columns }: HeadsProps) {
  useThrottled(botsVersion, REDRAW_MS);
  return (
    <div class="list-head side-row" style={columns} role="presentation">
      <span class="cell-time">Time</span>
      {queries.map((query, at) => {
        const id = botOf(query);
        const bot = id === undefined ? undefined : bots.get(id);
        const window = windows[at];
        const top = window?.top.value;
        return (
          <span key={at} class="side-head">
            <strong>{visible(titleOf(query))}</strong> {bot ? <Status status={bot.status} /> : null}
            {top === 'off' || top === 'failed' ? (
              <span class="query-error"> no older lines: {window?.topError.value}</span>
            ) : null}
          </span>
        );
      })}
    </div>
  );
}

interface CellsProps {
  row: Row;
  titles: readonly string[];
  marks: readonly string[];
  today: string;
  isCursor: boolean;
  zone: string;
}

function RowCells({ row: { key, at, cells }, titles, marks, today, isCursor }: CellsProps) {
  const on = day(at);
  return (
    <div
      class={`side-row${isCursor ? ' is-active' : ''}`}
      id={`side-${key}`}
      data-key={key}
      role="option"
      aria-selected={isCursor}
    >
      <time class="cell-time" title={fullTime(at)}>
        {on === today ? null : <span class="cell-day">{on.slice(5)} </span>}
        {clockTime(at)}
      </time>
      {cells.map((line, log) =>
        line ? (
          <span key={line.id} class={`side-cell row-${line.level}`}>
            <span class="unseen">
              {titles[log]}, {line.level}:{' '}
            </span>
            {line.dir === null ? null : (
              <span class={`dir-${line.dir}`} title={line.dir === 'in' ? 'incoming' : 'outgoing'}>
                {line.dir === 'in' ? '← ' : '→ '}
              </span>
            )}
            <span class="side-text">
              <LineText text={line.text} mark={marks[log] ?? ''} />
            </span>
          </span>
        ) : (
          <span key={`none-${log}`} class="side-cell" />
        ),
      )}
    </div>
  );
}

/** All of the lines of a row. */
function WholeRow({
  row,
  queries,
  onClose,
}: {
  row: Row;
  queries: readonly string[];
  onClose: () => void;
}) {
  return (
    <section class="whole" aria-label="Lines of the row">
      <header>
        <time>{fullTime(row.at)}</time>
        <span class="whole-actions">
          <a class="button" href={hrefAt('log', row.at)}>
            Log at this moment
          </a>
          <button type="button" class="quiet square" aria-label="Close the lines" onClick={onClose}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      {row.cells.map((line, at) =>
        line ? (
          <div key={line.id} class="side-whole">
            <p>
              <strong>{visible(titleOf(queries[at] ?? ''))}</strong> {clockTime(line.at)}{' '}
              <Level level={line.level} />
            </p>
            <TextBox name={`Message of log ${at + 1}`}>
              <LineText text={line.text} isWhole />
            </TextBox>
          </div>
        ) : null,
      )}
    </section>
  );
}
