import { useState } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { clockTime, day, fullTime, second, serverNow, span } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { Dialog } from '../parts/dialog.js';
import { valueText } from './flatten.js';
import { boundsOf, chartRows, staysIn, stepsOf } from './series.js';
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
  const stays = staysIn(steps);
  const isCut = value?.points.some(({ complete }) => !complete) ?? false;
  const missing = value?.missing ?? [];
  return (
    <Dialog title={`${path} of ${bot.id}`} onClose={onClose} isWide>
      <div class="dialog-body field-chart">
        <fieldset class="ranges segments">
          <legend class="unseen">Time range</legend>
          {page ? (
            <label>
              <input
                type="radio"
                name="chart-range"
                checked={spanMs === undefined}
                onChange={() => setSpan(undefined)}
              />
              <span>Range of the page</span>
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
          <p class="muted">The journal cannot be asked for a field whose name has a comma.</p>
        ) : !value ? (
          <p class="muted" role={error ? 'alert' : undefined}>
            {error ? error.message : 'Loading…'}
          </p>
        ) : steps.length === 0 ? (
          <p class="muted">The journal has nothing of this field in this time.</p>
        ) : null}
        {value && bounds ? (
          <StepChart
            rows={chartRows(steps, value.step_ms, to)}
            from={from}
            to={to}
            label={`${path} between ${valueText(bounds.min)} and ${valueText(bounds.max)} ${spanMs === undefined ? 'in the time range of the page' : `in the last ${span(spanMs)}`}`}
          />
        ) : null}
        {isCut ? (
          <p class="muted">
            There were more changes than are read: between two points, short peaks can be missing.
          </p>
        ) : null}
        {missing.map(({ node, reason }) => (
          <p key={node} class="muted">
            Without what {node} has: {reason}
          </p>
        ))}
        {stays.length > 0 ? (
          <details open={!bounds}>
            <summary>Values</summary>
            {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable with the keyboard */}
            <div class="value-table" tabIndex={0} role="region" aria-label="Values over time">
              <table>
                <thead>
                  <tr>
                    <th scope="col">From</th>
                    <th scope="col">Value</th>
                    <th scope="col">For</th>
                  </tr>
                </thead>
                <tbody>
                  {stays
                    .map(({ at, last }, n) => ({ at, last, end: stays[n + 1]?.at ?? serverNow() }))
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
            </div>
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
