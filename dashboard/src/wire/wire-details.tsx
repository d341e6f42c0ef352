// A wire message in the format that is wanted, beside those that it belongs to.

import { signal } from '@preact/signals';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import type { Line } from '../hub/messages.js';
import { clockTime } from '../model/time.js';
import { LineText } from '../parts/text.js';
import { TextBox } from '../parts/text-box.js';
import { type PlainKey, t } from '../texts/text.js';
import { hexOf, jsonOf, tookText, WIRE_FORMATS, type WireFormat } from './wire-format.js';
import type { WireExchange } from './wire-pairs.js';

/** For all messages, until the tab is closed: a user who chose hex gets hex again. */
const wanted = signal<WireFormat>('text');
const NAMES: Readonly<Record<WireFormat, PlainKey>> = {
  text: 'wire.text',
  json: 'wire.json',
  hex: 'wire.hex',
};

export function WireFormats() {
  return (
    <fieldset class="segments" aria-label={t('wire.format')}>
      {WIRE_FORMATS.map((format) => (
        <label key={format}>
          <input
            type="radio"
            name="wire-format"
            checked={wanted.value === format}
            onChange={() => (wanted.value = format)}
          />
          <span>{t(NAMES[format])}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface DetailsProps {
  line: Line;
  exchange: WireExchange | undefined;
  /** Goes to another line of the log. */
  onGo: (line: Line) => void;
}

export function WireDetails({ line, exchange, onGo }: DetailsProps) {
  if (!exchange) return <Message line={line} name={t('log.message')} />;
  const { request, replies } = exchange;
  return (
    <div class="wire-exchange">
      <Message line={request} name={t('wire.request')} isShown={line === request} onGo={onGo} />
      {replies.length === 0 ? (
        <p class="muted">{t('wire.noReply')}</p>
      ) : (
        replies.map((reply) => (
          <Message
            key={reply.id}
            line={reply}
            name={t('wire.reply', { time: tookText(reply.at - request.at) })}
            isShown={line === reply}
            onGo={onGo}
          />
        ))
      )}
    </div>
  );
}

interface MessageProps {
  line: Line;
  name: string;
  /** It is the line whose details are open. */
  isShown?: boolean;
  onGo?: (line: Line) => void;
}

function Message({ line, name, isShown = false, onGo }: MessageProps) {
  const format = wanted.value;
  const text = withoutEscapes(line.text);
  const json = format === 'json' ? jsonOf(text) : undefined;
  return (
    <article class="wire-message" aria-label={name} aria-current={isShown || undefined}>
      {onGo ? (
        <header>
          <strong class={`dir-${line.dir}`}>
            {line.dir === 'in' ? '←' : '→'} {name}
          </strong>
          <time class="muted">{clockTime(line.at)}</time>
          {isShown ? null : (
            <button type="button" class="quiet" onClick={() => onGo(line)}>
              {t('wire.goToLine')}
            </button>
          )}
        </header>
      ) : null}
      <TextBox name={name}>
        {format === 'hex' ? (
          hexOf(text)
        ) : (
          <LineText text={json ?? (format === 'json' ? text : line.text)} isWhole />
        )}
      </TextBox>
      {format === 'json' && json === undefined ? <p class="hint">{t('wire.notJson')}</p> : null}
    </article>
  );
}
