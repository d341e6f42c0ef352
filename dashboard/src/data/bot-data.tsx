import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { changeQuery, route } from '../model/route.js';
import { Icon } from '../parts/icons.js';
import { lazyView } from '../parts/lazy-view.js';
import { LineText } from '../parts/text.js';
import { say } from '../parts/toasts.js';
import { Unanswered } from '../parts/unanswered.js';
import { numberText, t } from '../texts/text.js';
import { Changed } from './changed.js';
import { type DataField, flatten, matching, valueText } from './flatten.js';
import { pinsOf, togglePin } from './pins.js';
import { stepsOf } from './series.js';
import { Sparkline } from './sparkline.js';
import { useHistory } from './use-history.js';

/** With at least this many fields there is a search. */
const SEARCH_FROM = 8;
/** Fields shown at once; the search finds the others. */
const MAX_SHOWN = 300;
const SPARK = { spanMs: 3_600_000 };
const SPARK_POINTS = 48;

const FieldChart = lazyView(async () => (await import('./field-chart.js')).FieldChart);

/** The data of a bot: pinned fields first, each with what it was in the last hour; all others below. */
export function BotData({ bot }: { bot: BotSnapshot }) {
  const [text, setText] = useState('');
  const fields = useMemo(() => flatten(bot.data), [bot.data]);
  const pinned = pinsOf(bot.kind);
  const found = matching(fields, text);
  const isPinned = ({ path }: DataField): boolean => pinned.includes(path);
  const byPath = new Map(fields.map((field) => [field.path, field]));
  // A pinned field that the bot does not have now is shown too: it may have had it an hour ago.
  const first = pinned
    .map((path) => byPath.get(path) ?? { path, value: null })
    .filter((field) => text.trim() === '' || found.some(({ path }) => path === field.path));
  const rest = found.filter((field) => !isPinned(field));
  const shown = rest.slice(0, MAX_SHOWN);
  // The API separates names by commas.
  const asked = pinned.filter((path) => !path.includes(',')).map((path) => `data.${path}`);
  const history = useHistory(bot, asked, SPARK, SPARK_POINTS);
  const chart = route.value.query.get('chart');
  return (
    <section class="card bot-data" aria-label={t('data.title')}>
      <h2>
        {t('data.title')}
        {fields.length > 0 ? <span class="muted"> {numberText(fields.length)}</span> : null}
      </h2>
      {fields.length >= SEARCH_FROM ? (
        <input
          type="search"
          class="data-search"
          aria-label={t('data.search')}
          placeholder={t('data.searchHint')}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      ) : null}
      {fields.length === 0 && pinned.length === 0 ? <p class="muted">{t('data.none')}</p> : null}
      {first.length > 0 ? (
        <ul class="data-fields is-pinned" aria-label={t('data.pinned')}>
          {first.map((field) => (
            <Row key={field.path} kind={bot.kind} field={field} isPinned>
              {history.value ? (
                <Sparkline
                  steps={stepsOf(
                    history.value,
                    `data.${field.path}`,
                    history.live.get(`data.${field.path}`) ?? [],
                  )}
                  from={history.from}
                  to={history.to}
                />
              ) : null}
            </Row>
          ))}
        </ul>
      ) : null}
      {asked.length > 0 ? <Unanswered of={history} /> : null}
      {shown.length > 0 ? (
        <ul class="data-fields" aria-label={t('term.fields')}>
          {shown.map((field) => (
            <Row key={field.path} kind={bot.kind} field={field} isPinned={false} />
          ))}
        </ul>
      ) : null}
      {text.trim() !== '' && found.length === 0 ? <p class="muted">{t('data.noMatch')}</p> : null}
      {shown.length < rest.length ? (
        <p class="muted">{t('data.moreFields', { n: rest.length - shown.length })}</p>
      ) : null}
      {chart ? (
        <FieldChart bot={bot} path={chart} onClose={() => changeQuery({ chart: '' })} />
      ) : null}
    </section>
  );
}

interface RowProps {
  kind: string;
  field: DataField;
  isPinned: boolean;
  /** The sparkline. */
  children?: ComponentChildren;
}

function Row({ kind, field: { path, value }, isPinned, children }: RowProps) {
  const text = valueText(value);
  return (
    <li data-field={path}>
      <button
        type="button"
        class="field-name"
        title={t('data.showOverTime', { field: path })}
        onClick={() => changeQuery({ chart: path })}
      >
        {path}
      </button>
      <Changed text={text}>
        {text === '' && value !== '' ? <span class="muted">–</span> : <LineText text={text} />}
      </Changed>
      <button
        type="button"
        class="quiet square pin-field"
        aria-pressed={isPinned}
        aria-label={t('data.pinOf', { field: path })}
        title={isPinned ? t('data.release') : t('data.pin', { kind })}
        onClick={() => {
          const fault = togglePin(kind, path);
          if (fault) say(fault);
        }}
      >
        <Icon name="pin" />
      </button>
      {children}
    </li>
  );
}
