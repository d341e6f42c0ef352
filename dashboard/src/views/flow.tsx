import { useState } from 'preact/hooks';
import { clockAheadMs, countedSince, seconds, secondsVersion } from '../model/live.js';
import { useResource } from '../model/resource.js';
import { api } from '../model/session.js';
import { useThrottled } from '../model/throttle.js';
import { clockTime, day, second, serverNow } from '../model/time.js';
import { StackedChart } from '../parts/chart.js';
import { short } from '../parts/short.js';
import { historySeries, liveSeries, NO_SERIES, rateOf } from './flow-series.js';

const STATS_MS = 10_000;
/** Height of the chart in px: a share of the window's height, so that it fills a wall display. */
const HEIGHT = { least: 180, most: 520, share: 0.3 };

const RANGES = [
  { name: '5 min', seconds: 300, isLive: true },
  { name: '15 min', seconds: 900, isLive: true },
  { name: '1 h', seconds: 3600, isLive: false },
  { name: '24 h', seconds: 86_400, isLive: false },
] as const;
type Range = (typeof RANGES)[number];

export function Flow() {
  const [range, setRange] = useState<Range>(RANGES[0]);
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
      const requestedMs = serverNow();
      const after = Math.floor(requestedMs - range.seconds * 1000);
      return { range, requestedMs, stats: await api().stats({ after, signal }) };
    },
    // Again once the hub counts: the first request may have been made before, and knows nothing of the time between.
    [range, range.isLive && rate !== undefined],
    range.isLive ? undefined : STATS_MS,
  );
  // Ignore the response for another range.
  const value = history.value?.range === range ? history.value : undefined;
  const shown = range.isLive
    ? liveSeries(range.seconds, counts, Date.now(), clockAheadMs.value, value)
    : value
      ? historySeries(range.seconds, value)
      : NO_SERIES;
  const at = point !== undefined && point < shown.times.length ? point : undefined;
  const rateText = rate === undefined ? '–' : short(rate);
  const when = at === undefined ? undefined : (shown.times[at] as number) * 1000;
  return (
    <section class="card flow" aria-label="Events">
      <header class="card-head">
        <div class="rate">
          <span class="rate-number" data-rate>
            {rateText}
          </span>
          <span class="muted">events/s</span>
        </div>
        <ul class="legend">
          {shown.series.map(({ name, colour, values }) => (
            <li key={name}>
              <span class={`swatch swatch-${colour}`} aria-hidden="true" />
              {name}
              {at === undefined ? null : <strong> {short(values[at] ?? 0)}</strong>}
            </li>
          ))}
          {when === undefined ? null : (
            <li class="muted">
              {range.seconds > 86_000 ? `${day(when)} ` : ''}
              {clockTime(when).slice(0, 8)}
            </li>
          )}
        </ul>
        <fieldset class="segments" aria-label="Range">
          {RANGES.map((one) => (
            <label key={one.name}>
              <input
                type="radio"
                name="range"
                checked={one === range}
                onChange={() => setRange(one)}
              />
              <span>{one.name}</span>
            </label>
          ))}
        </fieldset>
      </header>
      {!range.isLive && !value ? (
        <p class="chart-none muted" style={{ height: `${height}px` }}>
          {history.error && !history.isLoading
            ? `No statistics: ${history.error.message}`
            : 'Loading…'}
        </p>
      ) : (
        <StackedChart
          times={shown.times}
          series={shown.series}
          height={height}
          label={`Events per second by level, last ${range.name}; now ${rateText} per second`}
          onPoint={setPoint}
        />
      )}
    </section>
  );
}
