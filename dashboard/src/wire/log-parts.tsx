// Which part of one bot's log is shown: everything, its log lines, or its wire messages.

import { type PlainKey, t } from '../texts/text.js';
import { LOG_PARTS, type LogPart, partIn, withPart } from './wire-part.js';

const NAMES: Readonly<Record<LogPart, PlainKey>> = {
  all: 'wire.all',
  log: 'page.log',
  wire: 'wire.wire',
};

export function LogParts({
  query,
  onFilter,
}: {
  query: string;
  onFilter: (query: string) => void;
}) {
  const part = partIn(query);
  return (
    <fieldset class="segments log-parts" aria-label={t('wire.part')}>
      {LOG_PARTS.map((one) => (
        <label key={one}>
          <input
            type="radio"
            name="log-part"
            checked={part === one}
            onChange={() => onFilter(withPart(query, one))}
          />
          <span>{t(NAMES[one])}</span>
        </label>
      ))}
    </fieldset>
  );
}
