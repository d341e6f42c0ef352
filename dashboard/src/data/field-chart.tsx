import { useState } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { clockTime, day, fullTime, second, serverNow, span } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { Dialog } from '../parts/dialog.js';
import { Unanswered } from '../parts/unanswered.js';
import { t } from '../texts/text.js';
import { valueText } from './flatten.js';
import { boundsOf, chartRows, stepsOf, valueChanges } from './series.js';
import { StepChart } from './step-chart.js';
import { type HistoryRange, useHistory } from './use-history.js';

const SPANS = [
  { title: '15 min', ms: 900_000 },
  { title: '1 h', ms: 3_600_000 },
  { title: '6 h', ms: 6 * 3_600_000 },
  { title: '24 h', ms: 24 * 3_600_000 },
  { title: '7 d', ms: 7 * 24 * 3_600_000 },
] as const;
const HOUR = { spanMs: SPANS[1].ms };
/** Of a page whose range has no beginning, in ms. */
const PAST_MS = 24 * 3_600_000;
const POINTS = 300;
/** Values in the list below the chart, the newest. */
const LISTED = 200;

/** One field over time, in a dialog: numbers as a line, other values as a list of what it was from when to when. */
export function FieldChart({
  bot,
  path,
  onClose,
}: {
  bot: BotSnapshot;
  path: string;
  onClose: () => void;
}) {
  const page = pageRange();
  /** Undefined: the time range of the page, where it has one. */
  const [chosen, setSpan] = useState<number>();
  const spanMs = chosen ?? (page ? undefined : SPANS[1].ms);
  void second.value;
  const name = `data.${path}`;
  const isAskable = !path.includes(',');
  const range = spanMs === undefined ? page : { spanMs };
  const history = useHistory(bot, isAskable ? [name] : [], range ?? HOUR, POINTS);
  const { value, error, from, to } = history;
  const steps = value ? stepsOf(value, name, history.live.get(name) ?? []) : [];
  const bounds = boundsOf(steps);
  const changes = valueChanges(steps);
  const isCut = value?.points.some(({ complete }) => !complete) ?? false;
  const missing = value?.missing ?? [];
  const values = t('data.valuesOverTime');
  return (
    <Dialog title={t('data.chartTitle', { field: path, bot: bot.id })} onClose={onClose} isWide>
      <div class="dialog-body field-chart">
        <fieldset class="ranges segments">
          <legend class="unseen">{t('range.title')}</legend>
          {page ? (
            <label>
              <input
                type="radio"
                name="chart-range"
                checked={spanMs === undefined}
                onChange={() => setSpan(undefined)}
              />
              <span>{t('data.pageRange')}</span>
            </label>
          ) : null}
          {SPANS.map(({ title, ms }) => (
            <label key={ms}>
              <input
                type="radio"
                name="chart-range"
                checked={ms === spanMs}
                onChange={() => setSpan(ms)}
              />
              <span>{title}</span>
            </label>
          ))}
        </fieldset>
        {!isAskable ? (
          <p class="muted">{t('data.comma')}</p>
        ) : !value || error ? (
          <Unanswered of={history} />
        ) : steps.length === 0 ? (
          <p class="muted">{t('data.noHistory')}</p>
        ) : null}
        {value && bounds ? (
          <StepChart
            rows={chartRows(steps, value.step_ms, to)}
            from={from}
            to={to}
            label={
              spanMs === undefined
                ? t('data.chartPage', {
                    field: path,
                    min: valueText(bounds.min),
                    max: valueText(bounds.max),
                  })
                : t('data.chartLast', {
                    field: path,
                    min: valueText(bounds.min),
                    max: valueText(bounds.max),
                    time: span(spanMs),
                  })
            }
          />
        ) : null}
        {isCut ? <p class="muted">{t('data.sampled')}</p> : null}
        {missing.map(({ node, reason }) => (
          <p key={node} class="muted">
            {t('data.without', { node, reason })}
          </p>
        ))}
        {changes.length > 0 ? (
          <details open={!bounds}>
            <summary>{t('data.values')}</summary>
            <table class="value-table" aria-label={values}>
              <thead>
                <tr>
                  <th scope="col">{t('data.from')}</th>
                  <th scope="col">{t('term.value')}</th>
                  <th scope="col">{t('data.for')}</th>
                </tr>
              </thead>
              <tbody>
                {changes
                  .map(({ at, last }, n) => ({ at, last, end: changes[n + 1]?.at ?? serverNow() }))
                  .slice(-LISTED)
                  .reverse()
                  .map(({ at, last, end }) => (
                    <tr key={at}>
                      <td>
                        <time title={fullTime(at)}>{shortTime(at)}</time>
                      </td>
                      <td class="mono">{last === null ? '–' : visible(valueText(last))}</td>
                      <td>{span(end - at)}</td>
                    </tr>
                  ))}
              </tbody>
            </table>
          </details>
        ) : null}
      </div>
    </Dialog>
  );
}

/** The time range of the page; undefined where it has none: it is live, without a beginning. */
function pageRange(): HistoryRange | undefined {
  const { from, toMs } = timeRange.value;
  if (toMs === undefined) {
    if (!from) return undefined;
    // In whole minutes: the journal is read again for another length.
    const spanMs = 'ms' in from ? serverNow() - from.ms : from.agoMs;
    return { spanMs: Math.ceil(spanMs / 60_000) * 60_000 };
  }
  return { fromMs: from && 'ms' in from ? from.ms : toMs - PAST_MS, toMs };
}

/** Today without the day. */
function shortTime(at: number): string {
  const time = clockTime(at).slice(0, 8);
  return day(at) === day(serverNow()) ? time : `${day(at)} ${time}`;
}
