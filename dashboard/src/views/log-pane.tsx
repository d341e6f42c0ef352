// Owns a log: its filters, its list, what is done with lines. Used for the log of all bots and for that of one.

import { effect } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Line } from '../hub/messages.js';
import { downloadJournal, downloadRows, eventOf } from '../model/download.js';
import {
  bots as allBots,
  connection,
  isLoaded,
  linesEpoch,
  linesVersion,
  scopes,
} from '../model/live.js';
import { type LogFilter, LogWindow } from '../model/log-window.js';
import { hrefTo } from '../model/route.js';
import { settings } from '../model/settings.js';
import { clockTime, day, fullTime, serverNow } from '../model/time.js';
import { useWidth } from '../model/width.js';
import { plain } from '../parts/ansi.js';
import { copy } from '../parts/copy.js';
import { Icon } from '../parts/icons.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { say, sayError } from '../parts/toasts.js';
import { VirtualList } from '../parts/virtual-list.js';
import { useKeys } from '../shell/keys.js';
import { LogRow } from './log-row.js';

export const LEVEL_NAMES = ['info', 'warn', 'error', 'state'] as const;
/** With fewer rows than this the past is asked for at once. */
const FEW_ROWS = 200;
const NARROW_PX = 720;
const SEARCH_WAIT_MS = 200;
const CHOOSE_FIRST = 'Choose a line first, with j and k or with the mouse.';
const NO_FILTER: LogFilter = { levels: [], scopes: [], bots: [], dir: '', text: '' };

interface Props {
  /** The bots that it is of, and no others can be chosen. */
  bots?: readonly string[];
  filter?: LogFilter;
  onFilter?: (filter: LogFilter) => void;
  /** Id of a line that is to be shown. */
  at?: string | undefined;
}

export function LogPane({ bots, filter: given, onFilter, at }: Props) {
  const [own, setOwn] = useState<LogFilter>({ ...NO_FILTER, bots: bots ?? [] });
  const filter = given ?? own;
  const [isFollowing, setFollowing] = useState(at === undefined);
  const setFilter = (next: LogFilter): void => {
    // What passes now is looked at from its end.
    setFollowing(true);
    (onFilter ?? setOwn)(next);
  };
  const following = useRef(isFollowing);
  following.current = isFollowing;
  const [cursor, setCursor] = useState<string | undefined>(at);
  const [anchor, setAnchor] = useState<string>();
  const [isOpen, setOpen] = useState(false);
  const [reveal, setReveal] = useState<{ id: string; round: number }>();
  const isNarrow = useWidth() < NARROW_PX;

  const shown = useLogWindow(filter, at, following, (index) => {
    if (at === undefined) return;
    if (index === undefined) return say('This line is not kept any more.');
    setFollowing(false);
    setCursor(at);
    setReveal({ id: at, round: 0 });
  });
  void shown.version.value;
  const { rows, base } = shown;

  const cursorAt = cursor === undefined ? -1 : rows.findIndex(({ id }) => id === cursor);
  const anchorAt = anchor === undefined ? -1 : rows.findIndex(({ id }) => id === anchor);
  const [first, last] =
    anchorAt < 0 || cursorAt < 0
      ? [cursorAt, cursorAt]
      : [Math.min(anchorAt, cursorAt), Math.max(anchorAt, cursorAt)];
  const chosen = cursorAt < 0 ? undefined : rows[cursorAt];

  const follow = (): void => {
    if (shown.held.peek() > 0 || !shown.isJoined.peek()) shown.begin();
    setFollowing(true);
  };
  const step = (by: number, isRange = false): void => {
    const from = cursorAt < 0 ? rows.length : cursorAt;
    const next = rows[Math.max(0, Math.min(rows.length - 1, from + by))];
    if (!next) return;
    setFollowing(false);
    setAnchor(isRange ? (anchor ?? cursor) : undefined);
    setCursor(next.id);
    setReveal({ id: next.id, round: (reveal?.round ?? 0) + 1 });
  };
  const choose = (line: Line, isRange: boolean): void => {
    setFollowing(false);
    setAnchor(isRange ? (anchor ?? cursor ?? line.id) : undefined);
    setCursor(line.id);
  };
  const copyChosen = (): void => {
    const some = first < 0 ? [] : rows.slice(first, last + 1);
    if (some.length === 0) say(CHOOSE_FIRST);
    else
      void copy(some.map(textOf).join('\n'), some.length === 1 ? 'Line' : `${some.length} lines`);
  };
  const copyLink = (): void => {
    if (!chosen) say(CHOOSE_FIRST);
    else void copy(`${location.origin}/${hrefTo('log', '', { at: chosen.id })}`, 'Link');
  };

  useKeys('Log', [
    { keys: 'j', does: 'Next line', run: () => step(1) },
    { keys: 'k', does: 'Line before', run: () => step(-1) },
    { keys: 'ArrowDown', does: 'Next line', run: () => step(1) },
    { keys: 'ArrowUp', does: 'Line before', run: () => step(-1) },
    { keys: 'J', does: 'Choose the next line too', run: () => step(1, true) },
    { keys: 'K', does: 'Choose the line before too', run: () => step(-1, true) },
    { keys: 'Enter', does: 'The whole line', run: () => setOpen(!isOpen) },
    {
      keys: ' ',
      does: 'Pause or follow',
      run: () => (isFollowing ? setFollowing(false) : follow()),
    },
    { keys: 'G', does: 'To the end, and follow', run: follow },
    { keys: 'c', does: 'Copy the chosen lines', run: copyChosen },
    { keys: 'y', does: 'Copy a link to the line', run: copyLink },
    {
      keys: 'Escape',
      does: 'Close the line',
      run: () => (isOpen ? setOpen(false) : setCursor(undefined)),
    },
  ]);

  const revealAt = reveal ? rows.findIndex(({ id }) => id === reveal.id) : -1;
  const today = day(serverNow());
  const { zone, density } = settings.value;
  const rowHeight = isNarrow ? 44 : density === 'compact' ? 20 : 24;
  const withBot = bots === undefined;
  return (
    <div
      class={`log-pane${isNarrow ? ' is-narrow' : ''}${withBot ? '' : ' of-one'}`}
      data-following={isFollowing}
    >
      <Toolbar filter={filter} onFilter={setFilter} withBot={withBot}>
        <button
          type="button"
          class={isFollowing ? 'follow is-on' : 'follow'}
          aria-pressed={isFollowing}
          onClick={() => (isFollowing ? setFollowing(false) : follow())}
        >
          <Icon name={isFollowing ? 'pause' : 'follow'} />
          <span>{isFollowing ? 'Pause' : 'Follow'}</span>
        </button>
        <Menu shown={shown} filter={filter} />
      </Toolbar>
      {rows.length === 0 ? (
        <Nothing shown={shown} />
      ) : (
        <VirtualList
          class="log-list"
          count={rows.length}
          base={base}
          rowHeight={rowHeight}
          isFollowing={isFollowing}
          onEnd={(isAtEnd) => {
            if (!isAtEnd) setFollowing(false);
            else if (shown.isJoined.peek()) follow();
          }}
          onNearTop={() => void shown.older()}
          onNearEnd={() => void shown.newer()}
          reveal={revealAt < 0 ? undefined : revealAt}
          revealKey={reveal}
          attributes={{
            role: 'listbox',
            'aria-label': 'Lines',
            'aria-multiselectable': true,
            'aria-activedescendant': cursorAt < 0 ? undefined : `line-${cursor}`,
            tabIndex: 0,
            onClick: pick,
          }}
          row={(index) => {
            const line = rows[index];
            if (!line) return null;
            return (
              <LogRow
                line={line}
                mark={filter.text}
                isCursor={index === cursorAt}
                isSelected={index >= first && index <= last && first >= 0}
                withBot={withBot}
                today={today}
                zone={zone}
              />
            );
          }}
        />
      )}
      <Foot shown={shown} isFollowing={isFollowing} onFollow={follow} />
      {isOpen && chosen ? (
        <Whole
          line={chosen}
          onClose={() => setOpen(false)}
          onLink={copyLink}
          filter={filter}
          onFilter={withBot ? setFilter : undefined}
        />
      ) : null}
    </div>
  );

  function pick(event: MouseEvent): void {
    const element = (event.target as HTMLElement).closest<HTMLElement>('[data-id]');
    const line = rows.find(({ id }) => id === element?.dataset['id']);
    if (!line) return;
    // Text that was just marked with the mouse is not to be lost.
    if (String(getSelection()) !== '') return;
    choose(line, event.shiftKey);
    if (!event.shiftKey) setOpen(true);
  }
}

/** A window on the lines of a filter, that takes what is new. */
function useLogWindow(
  filter: LogFilter,
  at: string | undefined,
  following: { current: boolean },
  onPlace: (index: number | undefined) => void,
): LogWindow {
  const key = JSON.stringify(filter);
  const shown = useMemo(() => {
    const made = new LogWindow(filter);
    if (at === undefined) made.begin();
    return made;
  }, [key, at]);
  const isOpen = connection.value.state === 'open';
  useEffect(() => () => shown.close(), [shown]);
  useEffect(() => {
    if (!isOpen) return;
    shown.tryAgain();
    if (at !== undefined && shown.rows.length === 0) void shown.beginAt(at).then(onPlace);
    else if (shown.rows.length < FEW_ROWS) void shown.older();
  }, [shown, isOpen]);
  useEffect(
    () =>
      effect(() => {
        void linesVersion.value;
        void linesEpoch.value;
        shown.takeNew(following.current);
      }),
    [shown],
  );
  return shown;
}

interface ToolbarProps {
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
  withBot: boolean;
  children: preact.ComponentChildren;
}

function Toolbar({ filter, onFilter, withBot, children }: ToolbarProps) {
  const [text, setText] = useState(filter.text);
  const latest = useRef(filter);
  latest.current = filter;
  // Not with each letter: a search of the past is work.
  useEffect(() => {
    if (text === filter.text) return;
    const timer = setTimeout(() => onFilter({ ...latest.current, text }), SEARCH_WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => setText(filter.text), [filter.text]);
  const { levels } = filter;
  return (
    <div class="toolbar" role="search">
      <fieldset class="levels" aria-label="Levels">
        {LEVEL_NAMES.map((level) => (
          <button
            key={level}
            type="button"
            class={`chip level-${level}`}
            aria-pressed={levels.includes(level)}
            onClick={() =>
              onFilter({
                ...filter,
                levels: levels.includes(level)
                  ? levels.filter((other) => other !== level)
                  : [...levels, level],
              })
            }
          >
            {level}
          </button>
        ))}
      </fieldset>
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          data-search
          placeholder="Search lines"
          aria-label="Search lines"
          maxLength={1000}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      {withBot ? <BotChoice filter={filter} onFilter={onFilter} /> : null}
      <select
        aria-label="Scope"
        value={filter.scopes[0] ?? ''}
        onChange={({ currentTarget: { value } }) =>
          onFilter({ ...filter, scopes: value === '' ? [] : [value] })
        }
      >
        <option value="">All scopes</option>
        {[...new Set([...scopes.value, ...filter.scopes])].map((scope) => (
          <option key={scope}>{scope}</option>
        ))}
      </select>
      <select
        aria-label="Direction"
        value={filter.dir}
        onChange={({ currentTarget: { value } }) =>
          onFilter({ ...filter, dir: value as LogFilter['dir'] })
        }
      >
        <option value="">All lines</option>
        <option value="wire">On the wire</option>
        <option value="in">← incoming</option>
        <option value="out">→ outgoing</option>
      </select>
      <span class="toolbar-end">{children}</span>
    </div>
  );
}

/** Names offered while one is typed: more make a list of no use. */
const MAX_OFFERED = 50;

function BotChoice({ filter, onFilter }: Omit<ToolbarProps, 'withBot' | 'children'>) {
  const [text, setText] = useState(filter.bots.join(', '));
  useEffect(() => setText(filter.bots.join(', ')), [filter.bots.join()]);
  // Looked for while somebody types: the log is drawn often, and bots are many.
  const [isTyping, setTyping] = useState(false);
  const wanted = text.toLowerCase();
  const offered = isTyping
    ? [...allBots.keys()].filter((id) => id.toLowerCase().includes(wanted)).slice(0, MAX_OFFERED)
    : [];
  const take = (value: string): void => {
    const bots = value.split(/[\s,]+/).filter((part) => part !== '');
    if (bots.join() !== filter.bots.join()) onFilter({ ...filter, bots });
  };
  return (
    <>
      <input
        class="bot-choice"
        list="bots-offered"
        aria-label="Bots"
        placeholder="All bots"
        value={text}
        onFocus={() => setTyping(true)}
        onBlur={() => setTyping(false)}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value);
          if (currentTarget.value === '' || allBots.has(currentTarget.value))
            take(currentTarget.value);
        }}
        onChange={({ currentTarget }) => take(currentTarget.value)}
      />
      <datalist id="bots-offered">
        {offered.map((id) => (
          <option key={id} value={id} />
        ))}
      </datalist>
    </>
  );
}

function Menu({ shown, filter }: { shown: LogWindow; filter: LogFilter }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute('open');
  return (
    <details
      class="menu"
      ref={menu}
      onBlur={(event) => menu.current?.contains(event.relatedTarget as Node) || close()}
    >
      <summary aria-label="Download">
        <Icon name="download" />
      </summary>
      <div class="menu-items">
        <button
          type="button"
          onClick={() => {
            close();
            downloadRows(shown.rows);
          }}
        >
          What is loaded ({shown.rows.length.toLocaleString('en')} lines)
        </button>
        <button
          type="button"
          onClick={() => {
            close();
            say('The download is being put together.');
            downloadJournal(filter).catch((thrown: unknown) => sayError(thrown, 'No download'));
          }}
        >
          All in the journal, with this filter
        </button>
      </div>
    </details>
  );
}

function Nothing({ shown }: { shown: LogWindow }) {
  const isSearching = shown.top.value === 'loading' || !isLoaded.value;
  return <p class="empty muted log-list">{isSearching ? 'Loading …' : 'No line yet.'}</p>;
}

function Foot({
  shown,
  isFollowing,
  onFollow,
}: {
  shown: LogWindow;
  isFollowing: boolean;
  onFollow: () => void;
}) {
  const { rows } = shown;
  const top = shown.top.value;
  const held = shown.held.value;
  const past =
    top === 'loading'
      ? 'loading the past …'
      : top === 'end'
        ? 'from the beginning'
        : top === 'off'
          ? `no older lines here${shown.topError.value === '' ? '' : `: ${shown.topError.value}`}`
          : top === 'failed'
            ? `the past could not be loaded: ${shown.topError.value}`
            : 'older lines above';
  return (
    <footer class="log-foot">
      <span data-top={top}>
        {rows.length.toLocaleString('en')} lines, {past}
      </span>
      {isFollowing ? null : (
        <button type="button" class="to-end" onClick={onFollow}>
          <Icon name="follow" />
          {held > 0
            ? `${held.toLocaleString('en')} new lines`
            : shown.isJoined.value
              ? 'To the end'
              : 'To the present'}
        </button>
      )}
    </footer>
  );
}

interface WholeProps {
  line: Line;
  onClose: () => void;
  onLink: () => void;
  filter: LogFilter;
  onFilter: ((filter: LogFilter) => void) | undefined;
}

function Whole({ line, onClose, onLink, filter, onFilter }: WholeProps) {
  const { level, at, scope, bot, dir, transport, text, id } = line;
  return (
    <section class="whole" aria-label="The whole line">
      <header>
        <Level level={level} />
        <time>{fullTime(at)}</time>
        {scope === '' ? null : <span>{scope}</span>}
        {bot === null ? null : <a href={hrefTo('bots', bot)}>{bot}</a>}
        {dir === null ? null : (
          <span class={`dir-${dir}`}>
            {dir === 'in' ? '← incoming' : '→ outgoing'} {transport}
          </span>
        )}
        <code class="muted">{id}</code>
        <span class="whole-actions">
          {onFilter && bot !== null ? (
            <button type="button" onClick={() => onFilter({ ...filter, bots: [bot] })}>
              Only this bot
            </button>
          ) : null}
          <button type="button" onClick={() => void copy(plain(text), 'Line')}>
            <Icon name="copy" />
            Copy
          </button>
          <button type="button" onClick={() => void copy(JSON.stringify(eventOf(line)), 'JSON')}>
            JSON
          </button>
          <button type="button" onClick={onLink}>
            <Icon name="link" />
            Link
          </button>
          <button type="button" class="quiet square" aria-label="Close the line" onClick={onClose}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      <TextBox name="Message">
        <LineText text={text} isWhole />
      </TextBox>
    </section>
  );
}

/** A line as it is copied. */
function textOf({ at, level, scope, bot, dir, text }: Line): string {
  const arrow = dir === null ? '' : dir === 'in' ? '<- ' : '-> ';
  return `${day(at)} ${clockTime(at)} ${level} ${scope} ${bot ?? '-'} ${arrow}${plain(text)}`;
}
