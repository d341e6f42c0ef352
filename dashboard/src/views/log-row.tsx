import { Component, type ComponentChildren } from 'preact';
import { visible } from '../../../src/shared/contract/escapes.js';
import type { FieldName } from '../../../src/shared/query/fields.js';
import type { Column } from '../columns/column.js';
import type { Line } from '../hub/messages.js';
import { clockTime, day, fullTime, shortDay } from '../model/time.js';
import { Icon } from '../parts/icons.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { t } from '../texts/text.js';
import { AROUND, rowId } from './log-cells.js';

interface Props {
  line: Line;
  columns: readonly Column[];
  mark: string;
  isCursor: boolean;
  /** Where the arrows are in the row at the cursor. */
  cell?: string | undefined;
  isSelected: boolean;
  /** It belongs to the wire message at the cursor. */
  isPair?: boolean;
  /** Of a wire message: how long its reply took, or that there is none. */
  took?: string;
  /** The row at the cursor leads to the lines around it. */
  hasAround?: boolean;
  /** `YYYY-MM-DD`; lines of other days show their date. */
  today: string;
  /** Shown instead of the time of day. */
  clock?: string | undefined;
  /** Begins the ids of the rows, which are there once in a page. */
  name: string;
  /** Time zone of the settings; a change redraws the row. */
  zone: string;
  /** Of its bot. */
  kind: string | undefined;
  node: string | undefined;
}

/** Rows are drawn by the hundred per second, so an unchanged row is not rendered again. */
export class LogRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const now = this.props;
    return (
      next.line !== now.line ||
      next.columns !== now.columns ||
      next.mark !== now.mark ||
      next.isCursor !== now.isCursor ||
      next.cell !== now.cell ||
      next.isSelected !== now.isSelected ||
      next.isPair !== now.isPair ||
      next.took !== now.took ||
      next.today !== now.today ||
      next.zone !== now.zone ||
      next.kind !== now.kind ||
      next.node !== now.node
    );
  }

  override render(props: Props) {
    const { line, columns, isCursor, cell, isSelected, isPair, hasAround, name } = props;
    const { level, id } = line;
    const look = `log-row row-${level}${isCursor ? ' is-active' : ''}${isSelected ? ' is-selected' : ''}${isPair ? ' is-pair' : ''}`;
    return (
      <div class={look} id={rowId(name, id)} data-id={id} role="row" aria-selected={isSelected}>
        {level === 'gap' ? (
          <span class="gap-mark" role="gridcell">
            <Level level="gap" /> {line.text}
          </span>
        ) : (
          columns.map(({ name: column }) => (
            <span
              key={column}
              // Only one cell is referred to.
              id={column === cell ? rowId(name, id, column) : undefined}
              class={`${classOf(column, props)}${column === cell ? ' is-cell' : ''}`}
              role="gridcell"
              title={titleOf(column, line)}
            >
              {contentOf(column, props)}
            </span>
          ))
        )}
        {isCursor && hasAround && level !== 'gap' ? (
          <span
            id={rowId(name, id, AROUND)}
            class={`cell-around${cell === AROUND ? ' is-cell' : ''}`}
            role="gridcell"
            data-around
            title={t('log.aroundHint')}
          >
            <Icon name="log" />
            <span class="unseen">{t('log.around')}</span>
          </span>
        ) : null}
      </div>
    );
  }
}

function classOf(column: string, { line: { dir }, took = '' }: Props): string {
  if (column === 'dir' && dir !== null) return `cell-dir dir-${dir}`;
  if (column === 'message' && took !== '') return 'cell-message has-took';
  return `cell-${column}`;
}

function titleOf(column: string, { at, dir, transport }: Line): string | undefined {
  if (column === 'time') return fullTime(at);
  if (column !== 'dir' || dir === null) return undefined;
  return `${dir === 'in' ? t('wire.incoming') : t('wire.outgoing')}, ${transport}`;
}

function contentOf(
  column: string,
  { line, mark, took = '', today, clock, kind, node }: Props,
): ComponentChildren {
  const { at, level, scope, bot, dir, text, id } = line;
  switch (column) {
    case 'time':
      return (
        <time>
          {clock !== undefined || day(at) === today ? null : (
            <span class="cell-day">{shortDay(at)} </span>
          )}
          {clock ?? clockTime(at)}
        </time>
      );
    case 'level':
      return <Pick field="level" value={level} shown={<Level level={level} />} />;
    case 'scope':
      return <Pick field="scope" value={scope} shown={visible(scope)} />;
    case 'bot':
      return bot === null ? null : <Pick field="bot" value={bot} shown={bot} />;
    case 'kind':
    case 'node': {
      const value = column === 'kind' ? kind : node;
      return value === undefined ? null : <Pick field={column} value={value} shown={value} />;
    }
    case 'dir':
      return dir === null ? null : (
        <>
          {dir === 'in' ? '←' : '→'}
          <span class="unseen">{t(dir === 'in' ? 'wire.incoming' : 'wire.outgoing')}</span>
        </>
      );
    case 'event':
      return id;
    default:
      return took === '' ? (
        <LineText text={text} mark={mark} />
      ) : (
        <>
          <span class="cell-text">
            <LineText text={text} mark={mark} />
          </span>
          <span class="cell-took">{took}</span>
        </>
      );
  }
}

interface PickProps {
  field: FieldName;
  value: string;
  shown: ComponentChildren;
}

/** The list takes clicks and the Enter key on it: buttons would be a thousand new elements a second. */
function Pick({ field, value, shown }: PickProps) {
  return (
    <span class="pick" data-field={field} data-value={value} title={t('query.pickHint')}>
      {shown}
    </span>
  );
}
