import { Component } from 'preact';
import { visible } from '../../../src/shared/contract/escapes.js';
import type { Line } from '../hub/messages.js';
import { clockTime, day, fullTime } from '../model/time.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { PICK_TITLE } from '../query/pick-button.js';

interface Props {
  line: Line;
  mark: string;
  isCursor: boolean;
  isSelected: boolean;
  /** It belongs to the wire message at the cursor. */
  isPair?: boolean;
  /** Of a wire message: how long its reply took, or that there is none. */
  took?: string;
  withBot: boolean;
  /** `YYYY-MM-DD`; lines of other days show their date. */
  today: string;
  /** Shown in place of the time of day. */
  clock?: string;
  /** Begins the ids of the rows, which are there once in a page. */
  name?: string;
  /** Time zone of the settings; a change redraws the row. */
  zone: string;
}

/** Rows are drawn by the hundred per second, so an unchanged row is not rendered again. */
export class LogRow extends Component<Props> {
  override shouldComponentUpdate(next: Props): boolean {
    const now = this.props;
    return (
      next.line !== now.line ||
      next.mark !== now.mark ||
      next.isCursor !== now.isCursor ||
      next.isSelected !== now.isSelected ||
      next.isPair !== now.isPair ||
      next.took !== now.took ||
      next.withBot !== now.withBot ||
      next.today !== now.today ||
      next.zone !== now.zone
    );
  }

  override render(props: Props) {
    const {
      line,
      mark,
      isCursor,
      isSelected,
      isPair = false,
      took = '',
      withBot,
      today,
      name = 'line',
      clock,
    } = props;
    const { level, at, scope, bot, dir, transport, text, id } = line;
    const look = `log-row row-${level}${isCursor ? ' is-active' : ''}${isSelected ? ' is-selected' : ''}${isPair ? ' is-pair' : ''}`;
    if (level === 'gap') {
      return (
        <div
          class={look}
          id={`${name}-${id}`}
          data-id={id}
          role="option"
          aria-selected={isSelected}
        >
          <span class="gap-mark">
            <Level level="gap" /> {text}
          </span>
        </div>
      );
    }
    const on = day(at);
    return (
      <div class={look} id={`${name}-${id}`} data-id={id} role="option" aria-selected={isSelected}>
        <time class="cell-time" title={fullTime(at)}>
          {on === today || clock !== undefined ? null : (
            <span class="cell-day">{on.slice(5)} </span>
          )}
          {clock ?? clockTime(at)}
        </time>
        {/* The list takes clicks on these: an option has no buttons inside. */}
        <span class="pick" data-field="level" data-value={level} title={PICK_TITLE}>
          <Level level={level} />
        </span>
        <span class="cell-scope">
          <span class="pick" data-field="scope" data-value={scope} title={PICK_TITLE}>
            {visible(scope)}
          </span>
        </span>
        {withBot ? (
          <span class="cell-bot">
            {bot === null ? null : (
              <span class="pick" data-field="bot" data-value={bot} title={PICK_TITLE}>
                {bot}
              </span>
            )}
          </span>
        ) : null}
        <span
          class={dir === null ? 'cell-dir' : `cell-dir dir-${dir}`}
          title={
            dir === null ? undefined : `${dir === 'in' ? 'incoming' : 'outgoing'}, ${transport}`
          }
        >
          {dir === null ? '' : dir === 'in' ? '←' : '→'}
          {dir === null ? null : (
            <span class="unseen">{dir === 'in' ? 'incoming' : 'outgoing'}</span>
          )}
        </span>
        {took === '' ? (
          <span class="cell-message">
            <LineText text={text} mark={mark} />
          </span>
        ) : (
          <span class="cell-message has-took">
            <span class="cell-text">
              <LineText text={text} mark={mark} />
            </span>
            <span class="cell-took">{took}</span>
          </span>
        )}
      </div>
    );
  }
}
