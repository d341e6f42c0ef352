import type { BotSnapshot } from '../../../src/client/index.js';
import { cluster } from '../model/cluster.js';
import { lastLines } from '../model/live.js';
import { hrefTo } from '../model/route.js';
import { age, fullTime, second } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { Labels, labelsText } from '../parts/labels.js';
import { NextTry } from '../parts/next-try.js';
import { Status } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { toneOf } from '../parts/tone.js';
import { PickButton } from '../query/pick-button.js';
import { change, columns, type Query } from './bots-query.js';

export function Head({
  query,
  areAll,
  onAll,
}: {
  query: Query;
  areAll: boolean;
  onAll: () => void;
}) {
  return (
    <div class="list-head bots-row" role="row" aria-rowindex={1}>
      <span class="cell-check" role="columnheader">
        <input
          type="checkbox"
          aria-label="Select all shown bots"
          checked={areAll}
          onChange={onAll}
        />
      </span>
      {columns.value.map(({ name, title }) => {
        const isSorted = query.sort === name;
        return (
          <span
            key={name}
            class={`cell-${name}`}
            role="columnheader"
            aria-sort={isSorted ? (query.isDown ? 'descending' : 'ascending') : 'none'}
          >
            <button
              type="button"
              class="sort"
              onClick={() =>
                change(query, { sort: name, isDown: isSorted ? !query.isDown : false })
              }
            >
              {title}
              {isSorted ? <Icon name={query.isDown ? 'down' : 'up'} /> : null}
            </button>
          </span>
        );
      })}
      <span class="cell-line" role="columnheader">
        Last line
      </span>
      <span class="cell-labels" role="columnheader">
        Labels
      </span>
    </div>
  );
}

/** Labels in a row; more would be too narrow to read. */
const MAX_LABELS = 2;

interface RowProps {
  bot: BotSnapshot;
  index: number;
  isSelected: boolean;
  isActive: boolean;
  onToggle: (isRange: boolean) => void;
  onActive: () => void;
}

export function Row({ bot, index, isSelected, isActive, onToggle, onActive }: RowProps) {
  const { id, kind, status, since_ms, restarts, labels, last_error } = bot;
  void second.value;
  const line = lastLines.get(id);
  const tone = toneOf(status);
  return (
    <div
      class={`bots-row${isSelected ? ' is-selected' : ''}${isActive ? ' is-active' : ''}`}
      role="row"
      id={`bot-${id}`}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-bot={id}
      onMouseDown={onActive}
    >
      <span class="cell-check" role="gridcell">
        <input
          type="checkbox"
          aria-label={`Select ${id}`}
          checked={isSelected}
          onClick={(event) => {
            event.preventDefault();
            onToggle(event.shiftKey);
          }}
        />
      </span>
      <span class="cell-id" role="gridcell" title={id}>
        <a href={hrefTo('bots', id)}>{id}</a>
      </span>
      <span class="cell-kind" role="gridcell">
        <PickButton use="bots" field="kind" value={kind}>
          {kind}
        </PickButton>
      </span>
      <span class="cell-status" role="gridcell">
        <PickButton use="bots" field="status" value={status}>
          <Status status={status} />
        </PickButton>
      </span>
      <span class="cell-since" role="gridcell" title={`since ${fullTime(since_ms)}`}>
        {age(since_ms)}
      </span>
      <span class={restarts > 0 ? 'cell-restarts some' : 'cell-restarts'} role="gridcell">
        {restarts}
      </span>
      {cluster.value === null ? null : (
        <span class="cell-node" role="gridcell">
          {bot.node === undefined ? (
            '–'
          ) : (
            <PickButton use="bots" field="node" value={bot.node}>
              {bot.node}
            </PickButton>
          )}
        </span>
      )}
      <span class="cell-line" role="gridcell">
        <NextTry bot={bot} />
        {(tone === 'bad' || tone === 'wait') && last_error !== null ? (
          <span class="line-error">
            <LineText text={last_error} />
          </span>
        ) : line ? (
          <LineText text={line.text} />
        ) : null}
      </span>
      <span class="cell-labels" role="gridcell" title={labelsText(labels)}>
        <Labels labels={labels} most={MAX_LABELS} use="bots" />
      </span>
    </div>
  );
}
