import type { BotSnapshot } from '../../../src/client/index.js';
import { Changed } from '../data/changed.js';
import { valueText } from '../data/flatten.js';
import { lastLines } from '../model/live.js';
import { hrefTo } from '../model/route.js';
import { silenceOf } from '../model/silence.js';
import { age, fullTime, second } from '../model/time.js';
import { Labels, labelsText } from '../parts/labels.js';
import { NextTry } from '../parts/next-try.js';
import { Status } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { currentError } from '../parts/tone.js';
import { PickButton } from '../query/pick-button.js';
import { t } from '../texts/text.js';
import type { BotColumn } from './bots-columns.js';

/** Labels in a row; more would be too narrow to read. */
const MAX_LABELS = 2;

interface RowProps {
  bot: BotSnapshot;
  columns: readonly BotColumn[];
  /** Shown before the last line: of a row that has no room for them as columns. */
  inLine?: readonly BotColumn[] | undefined;
  index: number;
  isSelected: boolean;
  isActive: boolean;
  onToggle: (isRange: boolean) => void;
  onActive: () => void;
}

export function Row({
  bot,
  columns,
  inLine,
  index,
  isSelected,
  isActive,
  onToggle,
  onActive,
}: RowProps) {
  const { id } = bot;
  return (
    <div
      class={`bots-row${isSelected ? ' is-selected' : ''}${isActive ? ' is-active' : ''}`}
      role="row"
      id={`bot-${id}`}
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      data-bot={id}
      onMouseDown={onActive}
      // One Tab stop: its link. The arrows reach the rest.
      onFocusIn={onActive}
    >
      <span class="cell-check" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          aria-label={t('bots.select', { bot: id })}
          checked={isSelected}
          onClick={(event) => {
            event.preventDefault();
            onToggle(event.shiftKey);
          }}
        />
      </span>
      {columns.map((column) => (
        <Cell key={column.name} bot={bot} column={column} inLine={inLine} />
      ))}
    </div>
  );
}

function Cell({
  bot,
  column: { name, field },
  inLine = [],
}: Pick<RowProps, 'bot' | 'inLine'> & { column: BotColumn }) {
  const { id, kind, status, since_ms, restarts, labels, last_error, node } = bot;
  switch (name) {
    case 'id':
      return (
        <span class="cell-id" role="gridcell" title={id}>
          <a href={hrefTo('bots', id)}>{id}</a>
        </span>
      );
    case 'kind':
      return (
        <span class="cell-kind" role="gridcell">
          <PickButton use="bots" field="kind" value={kind}>
            {kind}
          </PickButton>
        </span>
      );
    case 'status':
      return (
        <span class="cell-status" role="gridcell">
          <PickButton use="bots" field="status" value={status}>
            <Status status={status} />
          </PickButton>
        </span>
      );
    case 'since':
      // The cell, not its row: a cell whose bot has not changed is not drawn with its row.
      void second.value;
      return (
        <span
          class="cell-since"
          role="gridcell"
          title={t('bots.since', { time: fullTime(since_ms) })}
        >
          {age(since_ms)}
        </span>
      );
    case 'restarts':
      return (
        <span class={restarts > 0 ? 'cell-restarts some' : 'cell-restarts'} role="gridcell">
          {restarts}
        </span>
      );
    case 'node':
      return (
        <span class="cell-node" role="gridcell">
          {node === undefined ? (
            '–'
          ) : (
            <PickButton use="bots" field="node" value={node}>
              {node}
            </PickButton>
          )}
        </span>
      );
    case 'silent':
      return <SilentCell bot={bot} />;
    case 'line': {
      // A line changes no bot.
      void second.value;
      const line = lastLines.get(id);
      const error = currentError(status, last_error);
      return (
        <span class="cell-line" role="gridcell">
          <NextTry bot={bot} />
          {inLine.map((column) => (
            <span key={column.name} class="in-line">
              {column.title} <FieldValue bot={bot} column={column} />
            </span>
          ))}
          {error !== null ? (
            <span class="line-error">
              <LineText text={error} />
            </span>
          ) : line ? (
            <LineText text={line.text} />
          ) : null}
        </span>
      );
    }
    case 'labels':
      return (
        <span class="cell-labels" role="gridcell" title={labelsText(labels)}>
          <Labels labels={labels} most={MAX_LABELS} use="bots" />
        </span>
      );
    default: {
      const isNumber = typeof field?.of(bot) === 'number';
      return (
        <span class={isNumber ? 'cell-field is-number' : 'cell-field'} role="gridcell">
          <FieldValue bot={bot} column={{ name, field }} />
        </span>
      );
    }
  }
}

function SilentCell({ bot }: { bot: BotSnapshot }) {
  void second.value;
  const silence = silenceOf(bot);
  if (silence === null) {
    return (
      <span class="cell-silent muted" role="gridcell">
        –
      </span>
    );
  }
  const { at, isSince } = silence;
  if (at === undefined) {
    return (
      <span class="cell-silent" role="gridcell" title={t('bots.noLineHint')}>
        {t('bots.noLine')}
      </span>
    );
  }
  const time = fullTime(at);
  const title = isSince ? t('bots.silentSince', { time }) : t('bots.saidAt', { time });
  return (
    <span class="cell-silent" role="gridcell" title={title}>
      {isSince ? t('bots.longerThan', { time: age(at) }) : age(at)}
    </span>
  );
}

function FieldValue({
  bot,
  column,
}: {
  bot: BotSnapshot;
  column: Pick<BotColumn, 'name' | 'field'>;
}) {
  const text = valueText(column.field?.of(bot));
  return (
    <Changed text={text}>
      {text === '' ? <span class="muted">–</span> : <LineText text={text} />}
    </Changed>
  );
}
