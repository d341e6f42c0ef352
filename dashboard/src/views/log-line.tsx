import { useRef } from 'preact/hooks';
import { visible, withoutEscapes } from '../../../src/shared/contract/escapes.js';
import type { FieldName } from '../../../src/shared/query/fields.js';
import type { Line } from '../hub/messages.js';
import { eventOf } from '../model/download.js';
import { hrefTo } from '../model/route.js';
import { clockTime, day, fullTime } from '../model/time.js';
import { copy } from '../parts/copy.js';
import { useFocusFor } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { picked } from '../query/edit-query.js';
import { PICK_TITLE } from '../query/pick-button.js';
import { WireDetails, WireFormats } from '../wire/wire-details.js';
import type { WireExchange } from '../wire/wire-pairs.js';

interface WholeProps {
  line: Line;
  /** Of a wire message: those that it belongs to. */
  exchange: WireExchange | undefined;
  /** Goes to another line. */
  onGo: (line: Line) => void;
  onClose: () => void;
  onLink: () => void;
  onContext: () => void;
  query: string;
  onFilter: (query: string) => void;
  /** The log is of more than one bot. */
  withBot: boolean;
}

export function Whole(props: WholeProps) {
  const { line, exchange, onGo, onClose, onLink, onContext, query, onFilter, withBot } = props;
  const { level, at, scope, bot, dir, transport, text, id } = line;
  const element = useRef<HTMLElement>(null);
  useFocusFor('.log-list', element);
  return (
    <section ref={element} class="whole" aria-label="Line details">
      <header>
        <Level level={level} />
        <time>{fullTime(at)}</time>
        {scope === '' ? null : <span>{visible(scope)}</span>}
        {bot === null ? null : <a href={hrefTo('bots', bot)}>{bot}</a>}
        {dir === null ? null : (
          <span class={`dir-${dir}`}>
            {dir === 'in' ? '← incoming' : '→ outgoing'} {transport}
          </span>
        )}
        <code class="muted">{id}</code>
        {dir === null ? null : <WireFormats />}
        <span class="whole-actions">
          {withBot && bot !== null ? (
            <OnlyButton what="bot" {...{ field: 'bot', value: bot, query, onFilter }} />
          ) : null}
          {level === 'gap' ? null : (
            <>
              <OnlyButton what="level" {...{ field: 'level', value: level, query, onFilter }} />
              <OnlyButton what="scope" {...{ field: 'scope', value: scope, query, onFilter }} />
            </>
          )}
          <button type="button" onClick={() => void copy(withoutEscapes(text), 'Line')}>
            <Icon name="copy" />
            Copy
          </button>
          <button type="button" onClick={() => void copy(JSON.stringify(eventOf(line)), 'JSON')}>
            JSON
          </button>
          <button
            type="button"
            title="The lines around it, without the filter (x)"
            onClick={onContext}
          >
            <Icon name="log" />
            Lines around
          </button>
          <button type="button" onClick={onLink}>
            <Icon name="link" />
            Link
          </button>
          <button
            type="button"
            class="quiet square"
            aria-label="Close line details"
            onClick={onClose}
          >
            <Icon name="close" />
          </button>
        </span>
      </header>
      {dir === null ? (
        <TextBox name="Message">
          <LineText text={text} isWhole />
        </TextBox>
      ) : (
        <WireDetails line={line} exchange={exchange} onGo={onGo} />
      )}
    </section>
  );
}

interface OnlyProps {
  what: string;
  field: FieldName;
  value: string;
  query: string;
  onFilter: (query: string) => void;
}

function OnlyButton({ what, field, value, query, onFilter }: OnlyProps) {
  return (
    <button
      type="button"
      title={PICK_TITLE}
      onClick={({ altKey: isNot }) => onFilter(picked(query, 'lines', { field, value, isNot }))}
    >
      Only this {what}
    </button>
  );
}

/** The text of a line for the clipboard. */
export function textOf({ at, level, scope, bot, dir, text }: Line): string {
  const arrow = dir === null ? '' : dir === 'in' ? '<- ' : '-> ';
  return `${day(at)} ${clockTime(at)} ${level} ${scope} ${bot ?? '-'} ${arrow}${withoutEscapes(text)}`;
}
