import { downloadJournal, downloadRows } from '../model/download.js';
import { recorded } from '../model/event-source.js';
import { LEVEL_NAMES, type LogFilter } from '../model/log-filter.js';
import type { LogWindow } from '../model/log-window.js';
import { Menu } from '../parts/menu.js';
import { say, sayError } from '../parts/toasts.js';
import { hasValue, picked } from '../query/edit-query.js';
import { QueryBox } from '../query/query-box.js';
import { t } from '../texts/text.js';

/** Searching the journal is expensive. */
const SEARCH_WAIT_MS = 200;

interface ToolbarProps {
  filter: LogFilter;
  onFilter: (query: string) => void;
  children: preact.ComponentChildren;
}

export function Toolbar({ filter: { query }, onFilter, children }: ToolbarProps) {
  return (
    <div class="toolbar" role="search">
      <fieldset class="levels" aria-label={t('log.levels')}>
        {LEVEL_NAMES.map((level) => (
          <button
            key={level}
            type="button"
            class={`chip level-${level}`}
            aria-pressed={hasValue(query, 'lines', { field: 'level', value: level, isNot: false })}
            onClick={({ altKey }) =>
              onFilter(picked(query, 'lines', { field: 'level', value: level, isNot: altKey }))
            }
          >
            {level}
          </button>
        ))}
      </fieldset>
      <QueryBox use="lines" value={query} waitMs={SEARCH_WAIT_MS} onChange={onFilter} />
      <span class="toolbar-end">{children}</span>
    </div>
  );
}

export function DownloadMenu({ shown, filter }: { shown: LogWindow; filter: LogFilter }) {
  return (
    <Menu name={t('log.download')} icon="download">
      {(close) => (
        <>
          <button
            type="button"
            onClick={() => {
              close();
              downloadRows(shown.rows);
            }}
          >
            {t('log.loadedLines', { n: shown.rows.length })}
          </button>
          {recorded.value ? null : (
            <button
              type="button"
              onClick={() => {
                close();
                say(t('log.preparing'));
                downloadJournal(filter).catch((thrown: unknown) =>
                  sayError(thrown, t('log.downloadFailed')),
                );
              }}
            >
              {t('log.allMatching')}
            </button>
          )}
        </>
      )}
    </Menu>
  );
}
