// Owns what a log is filtered by, and what is done with all of it.

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
  /** What is searched for, or asked to be: when it comes back as the filter's text somebody may have typed on. */
  const asked = useRef(filter.text);
  // Not with each letter: a search of the past is work.
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
        {/* Several can only come with an address. */}
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
