import { useState } from 'preact/hooks';
import { clockAheadMs, countedSince, seconds, secondsVersion } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { changeQuery, route } from '../model/route.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { clockTime, day, second, serverNow, span } from '../model/time.js';
import { showMoment, shownMoment, showRange, timeRange } from '../model/time-range.js';
import { StackedChart } from '../parts/chart.js';
import { short } from '../parts/short.js';
import { Unanswered } from '../parts/unanswered.js';
import { boundsOf, LIVE, type TimeRange } from '../range/range.js';
import { rangeText } from '../range/range-text.js';
import { t } from '../texts/text.js';
import { historySeries, liveSeries, NO_SERIES, pastSeries, rateOf } from './flow-series.js';
import { SeverityStrip } from './severity-strip.js';

const STATS_MS = 10_000;
/** Height of the chart in px: a share of the window's height, so that it fills a wall display. */
const HEIGHT = { least: 180, most: 520, share: 0.3 };

const RANGES = [
  { name: '5 min', seconds: 300 },
  { name: '15 min', seconds: 900 },
  { name: '1 h', seconds: 3600 },
  { name: '24 h', seconds: 86_400 },
] as const;
/** Up to this length a live chart shows each second, which the page counts itself. */
const MAX_LIVE_S = 900;

/** What the chart shows of the time range of the page. */
interface Shown {
  /** Its length in s, and what follows the word "last". */
  seconds: number;
  name: string;
  isLive: boolean;
  /** Unix epoch ms; undefined: now. */
  toMs: number | undefined;
}

function shownOf(range: TimeRange): Shown {
  const { toMs } = range;
  const { fromMs } = boundsOf(range, serverNow());
  const end = toMs ?? serverNow();
  // A range without a beginning.
  const least = RANGES[0].seconds * (toMs === undefined ? 1 : 3);
  const seconds = fromMs === undefined ? least : Math.max(1, Math.round((end - fromMs) / 1000));
  const name = RANGES.find((one) => one.seconds === seconds)?.name ?? span(seconds * 1000);
  const isMoving = range.from === undefined || 'agoMs' in range.from;
  return { seconds, name, isLive: toMs === undefined && isMoving && seconds <= MAX_LIVE_S, toMs };
}

export function Flow() {
  const chosen = timeRange.value;
  const range = shownOf(chosen);
  const [point, setPoint] = useState<number>();
  // Redraws every second, which also picks up a new window height.
  void second.value;
  const height = Math.round(
    Math.min(HEIGHT.most, Math.max(HEIGHT.least, window.innerHeight * HEIGHT.share)),
  );
  useThrottled(secondsVersion, 1000);
  const counts = { seconds, since: countedSince };
  const rate = rateOf(counts, Date.now());
  const history = useResource(
    async (signal) => {
      const requestedMs = range.toMs ?? serverNow();
      const after = Math.floor(requestedMs - range.seconds * 1000);
      const stats = await api().stats({ after, before: range.toMs, signal });
      return { requestedMs, stats };
    },
    [chosen],
    {
      // Again once the hub counts: the first request may have been made before, and knows nothing of the time between.
      when: [range.isLive && rate !== undefined],
      ...(!range.isLive && range.toMs === undefined && { everyMs: STATS_MS }),
    },
  );
  const { value } = history;
  const shown = range.isLive
    ? liveSeries(range.seconds, counts, Date.now(), clockAheadMs.value, value)
    : value
      ? range.toMs === undefined
        ? historySeries(range.seconds, value)
        : pastSeries(range.toMs - range.seconds * 1000, value)
      : NO_SERIES;
  const at = point !== undefined && point < shown.times.length ? point : undefined;
  const rateText = rate === undefined ? '–' : short(rate);
  const when = at === undefined ? undefined : (shown.times[at] as number) * 1000;
  const marked = shownMoment.value;
  // In the address, like everything that the page shows.
  const drawn = route.value.query.get('levels')?.split(',') ?? [];
  const names = shown.series.map(({ name }) => name);
  const isDrawn = (name: string): boolean =>
    !drawn.some((one) => names.includes(one)) || drawn.includes(name);
  const toggle = (name: string, isAlone: boolean): void => {
    const others = names.filter((one) => one !== name && isDrawn(one));
    const next = isAlone ? [name] : isDrawn(name) ? others : [...others, name];
    changeQuery({ levels: next.length === names.length ? '' : next.join() });
  };
  return (
    <section class="card flow" aria-label={t('flow.title')}>
      <header class="card-head">
        <div class="rate">
          <span class="rate-number" data-rate>
            {rateText}
          </span>
          <span class="muted">{t('flow.perSecond')}</span>
        </div>
        <ul class="legend">
          {shown.series.map(({ name, colour, values }) => (
            <li key={name}>
              <button
                type="button"
                class="legend-level"
                aria-pressed={isDrawn(name)}
                title={t('flow.legendHint')}
                onClick={({ altKey }) => toggle(name, altKey)}
              >
                <span class={`swatch swatch-${colour}`} aria-hidden="true" />
                {name === 'other' ? t('flow.other') : name}
                {at === undefined ? null : <strong> {short(values[at] ?? 0)}</strong>}
              </button>
            </li>
          ))}
          {when === undefined ? null : (
            <li class="muted">
              {range.seconds > 86_000 || day(when) !== day(serverNow()) ? `${day(when)} ` : ''}
              {clockTime(when).slice(0, 8)}
            </li>
          )}
        </ul>
        <fieldset class="segments" aria-label={t('flow.range')}>
          {RANGES.map((one) => (
            <label key={one.name}>
              <input
                type="radio"
                name="range"
                checked={range.toMs === undefined && one.seconds === range.seconds}
                onChange={() => showRange({ ...LIVE, from: { agoMs: one.seconds * 1000 } })}
              />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
      </header>
      {range.isLive && history.error ? <Unanswered of={history} /> : null}
      {!range.isLive && !value ? (
        <p class="chart-none muted" style={{ height: `${height}px` }}>
          {history.error && !history.isLoading
            ? t('flow.none', { reason: history.error.message })
            : t('state.loading')}
        </p>
      ) : (
        <StackedChart
          times={shown.times}
          series={shown.series.filter(({ name }) => isDrawn(name))}
          height={height}
          label={t('flow.label', {
            range:
              range.toMs === undefined ? t('flow.last', { range: range.name }) : rangeText(chosen),
            rate: rateText,
          })}
          onPoint={setPoint}
          onPick={pick}
          mark={marked === undefined ? undefined : marked / 1000}
        />
      )}
      <SeverityStrip series={shown.series} />
    </section>
  );
}

/** A click on the chart is a moment, a drag a range. Times in Unix epoch s. */
function pick(from: number, to: number): void {
  if (from === to) showMoment(Math.floor(from) * 1000);
  else {
    const ends = { from: { ms: Math.floor(from) * 1000 }, toMs: Math.ceil(to) * 1000 };
    showRange({ ...ends, momentMs: undefined });
  }
}
