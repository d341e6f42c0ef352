import { useEffect, useRef, useState } from 'preact/hooks';
import { downloadJournal, downloadRows } from '../model/download.js';
import { bots as allBots, scopes } from '../model/live.js';
import { LEVEL_NAMES, type LogFilter, MAX_TEXT } from '../model/log-filter.js';
import type { LogWindow } from '../model/log-window.js';
import { Icon } from '../parts/icons.js';
import { say, sayError } from '../parts/toasts.js';

const SEARCH_WAIT_MS = 200;

interface ToolbarProps {
  filter: LogFilter;
  onFilter: (filter: LogFilter) => void;
  withBot: boolean;
  children: preact.ComponentChildren;
}

export function Toolbar({ filter, onFilter, withBot, children }: ToolbarProps) {
  const [text, setText] = useState(filter.text);
  const latest = useRef(filter);
  latest.current = filter;
  /** The last submitted text. When the filter catches up with it, the user may have typed more. */
  const asked = useRef(filter.text);
  // Debounced: searching the journal is expensive.
  useEffect(() => {
    if (text === asked.current) return;
    const timer = setTimeout(() => {
      asked.current = text;
      onFilter({ ...latest.current, text });
    }, SEARCH_WAIT_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => {
    if (filter.text === asked.current) return;
    asked.current = filter.text;
    setText(filter.text);
  }, [filter.text]);
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
          maxLength={MAX_TEXT}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      {withBot ? <BotChoice filter={filter} onFilter={onFilter} /> : null}
      <select
        aria-label="Scope"
        value={filter.scopes.join()}
        onChange={({ currentTarget: { value } }) =>
          onFilter({ ...filter, scopes: value === '' ? [] : [value] })
        }
      >
        <option value="">All scopes</option>
        {/* Only an address can select several. */}
        {filter.scopes.length > 1 ? (
          <option value={filter.scopes.join()}>{filter.scopes.join(', ')}</option>
        ) : null}
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
        <option value="wire">Network traffic</option>
        <option value="in">← Incoming</option>
        <option value="out">→ Outgoing</option>
      </select>
      <span class="toolbar-end">{children}</span>
    </div>
  );
}

/** Bound of the suggestions. */
const MAX_OFFERED = 50;

function BotChoice({ filter, onFilter }: Omit<ToolbarProps, 'withBot' | 'children'>) {
  const [text, setText] = useState(filter.bots.join(', '));
  useEffect(() => setText(filter.bots.join(', ')), [filter.bots.join()]);
  // Computed only while typing: the log redraws often, and there can be thousands of bots.
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

export function Menu({ shown, filter }: { shown: LogWindow; filter: LogFilter }) {
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute('open');
  return (
    <details
      class="menu"
      ref={menu}
      onFocusOut={(event) => menu.current?.contains(event.relatedTarget as Node) || close()}
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
          Loaded lines ({shown.rows.length.toLocaleString('en')})
        </button>
        <button
          type="button"
          onClick={() => {
            close();
            say('Preparing the download…');
            downloadJournal(filter).catch((thrown: unknown) => sayError(thrown, 'Download failed'));
          }}
        >
          All lines in the journal that match the filter
        </button>
      </div>
    </details>
  );
}
