// A row of the logs side by side: its head, its cells, and the whole of its lines.

import { visible } from '../../../src/shared/contract/escapes.js';
import { bots, botsVersion } from '../model/live.js';
import type { LogWindow } from '../model/log-window.js';
import { useThrottled } from '../model/throttle.js';
import { clockTime, day, fullTime, shortDay } from '../model/time.js';
import { hrefAt } from '../model/time-range.js';
import { CloseButton } from '../parts/close-button.js';
import { Level, Status } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { t } from '../texts/text.js';
import type { Row } from './align.js';
import { botOf } from './side-address.js';

const REDRAW_MS = 500;

/** The title of the column of a query. */
export function titleOf(query: string): string {
  return botOf(query) ?? query;
}

interface HeadsProps {
  queries: readonly string[];
  windows: readonly LogWindow[];
  columns: Record<string, number>;
}

/** Above each column: its query, and what is missing. */
export function Heads({ queries, windows, columns }: HeadsProps) {
  useThrottled(botsVersion, REDRAW_MS);
  return (
    <div class="list-head side-row" style={columns} role="presentation">
      <span class="cell-time">{t('term.time')}</span>
      {queries.map((query, at) => {
        const id = botOf(query);
        const bot = id === undefined ? undefined : bots.get(id);
        const window = windows[at];
        const top = window?.top.value;
        return (
          <span key={at} class="side-head">
            <strong>{visible(titleOf(query))}</strong> {bot ? <Status status={bot.status} /> : null}
            {top === 'off' || top === 'failed' ? (
              <span class="query-error">
                {' '}
                {t('side.noOlder', { reason: window?.topError.value ?? '' })}
              </span>
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
}

export function RowCells({ row: { key, at, cells }, titles, marks, today, isCursor }: CellsProps) {
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
        {on === today ? null : <span class="cell-day">{shortDay(at)} </span>}
        {clockTime(at)}
      </time>
      {cells.map((line, log) =>
        line ? (
          <span key={line.id} class={`side-cell row-${line.level}`}>
            <span class="unseen">
              {titles[log]}, {line.level}:{' '}
            </span>
            {line.dir === null ? null : (
              <span
                class={`dir-${line.dir}`}
                title={line.dir === 'in' ? t('wire.incoming') : t('wire.outgoing')}
              >
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
export function WholeRow({
  row,
  queries,
  onClose,
}: {
  row: Row;
  queries: readonly string[];
  onClose: () => void;
}) {
  return (
    <section class="whole" aria-label={t('side.rowLines')}>
      <header>
        <time>{fullTime(row.at)}</time>
        <span class="whole-actions">
          <a class="button" href={hrefAt('log', row.at)}>
            {t('moment.log')}
          </a>
          <CloseButton name={t('side.closeLines')} onClick={onClose} />
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
