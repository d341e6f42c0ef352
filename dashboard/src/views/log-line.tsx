import { useRef } from 'preact/hooks';
import { visible, withoutEscapes } from '../../../src/shared/contract/escapes.js';
import type { FieldName } from '../../../src/shared/query/fields.js';
import type { Line } from '../hub/messages.js';
import { eventOf } from '../model/download.js';
import { hrefIn } from '../model/route.js';
import { clockTime, day, fullTime } from '../model/time.js';
import { CloseButton } from '../parts/close-button.js';
import { copy } from '../parts/copy.js';
import { useFocusFor } from '../parts/focus.js';
import { Icon } from '../parts/icons.js';
import { Level } from '../parts/status.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { picked } from '../query/edit-query.js';
import { type PlainKey, t } from '../texts/text.js';
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
    <section ref={element} class="whole" aria-label={t('log.details')}>
      <header>
        <Level level={level} />
        <time>{fullTime(at)}</time>
        {scope === '' ? null : <span>{visible(scope)}</span>}
        {bot === null ? null : <a href={hrefIn('bots', bot)}>{bot}</a>}
        {dir === null ? null : (
          <span class={`dir-${dir}`}>
            {dir === 'in' ? t('log.incomingArrow') : t('log.outgoingArrow')} {transport}
          </span>
        )}
        <code class="muted">{id}</code>
        {dir === null ? null : <WireFormats />}
        <span class="whole-actions">
          {withBot && bot !== null ? (
            <OnlyButton what="log.onlyBot" {...{ field: 'bot', value: bot, query, onFilter }} />
          ) : null}
          {level === 'gap' ? null : (
            <>
              <OnlyButton
                what="log.onlyLevel"
                {...{ field: 'level', value: level, query, onFilter }}
              />
              <OnlyButton
                what="log.onlyScope"
                {...{ field: 'scope', value: scope, query, onFilter }}
              />
            </>
          )}
          <button type="button" onClick={() => void copy(withoutEscapes(text), t('term.line'))}>
            <Icon name="copy" />
            {t('button.copy')}
          </button>
          <button type="button" onClick={() => void copy(JSON.stringify(eventOf(line)), 'JSON')}>
            JSON
          </button>
          <button type="button" title={t('log.aroundHint')} onClick={onContext}>
            <Icon name="log" />
            {t('log.aroundButton')}
          </button>
          <button type="button" onClick={onLink}>
            <Icon name="link" />
            {t('term.link')}
          </button>
          <CloseButton name={t('log.closeDetails')} onClick={onClose} />
        </span>
      </header>
      {dir === null ? (
        <TextBox name={t('log.message')}>
          <LineText text={text} isWhole />
        </TextBox>
      ) : (
        <WireDetails line={line} exchange={exchange} onGo={onGo} />
      )}
    </section>
  );
}

interface OnlyProps {
  what: PlainKey;
  field: FieldName;
  value: string;
  query: string;
  onFilter: (query: string) => void;
}

function OnlyButton({ what, field, value, query, onFilter }: OnlyProps) {
  return (
    <button
      type="button"
      title={t('query.pickHint')}
      onClick={({ altKey: isNot }) => onFilter(picked(query, 'lines', { field, value, isNot }))}
    >
      {t(what)}
    </button>
  );
}

/** The text of a line for the clipboard. */
export function textOf({ at, level, scope, bot, dir, text }: Line): string {
  const arrow = dir === null ? '' : dir === 'in' ? '<- ' : '-> ';
  return `${day(at)} ${clockTime(at)} ${level} ${scope} ${bot ?? '-'} ${arrow}${withoutEscapes(text)}`;
}
