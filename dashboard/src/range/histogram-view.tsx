// Bars of counts over a time range. Drag over them for a range, click for a moment; with the keyboard it is a slider.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { clockTime, day, serverNow, shortDay } from '../model/time.js';
import { showMoment, showRange, timeRange } from '../model/time-range.js';
import { useWidth } from '../model/width.js';
import { t } from '../texts/text.js';
import {
  type AskStats,
  type Bars,
  type Counts,
  Histogram,
  SEVERITIES,
  type Severity,
} from './histogram.js';
import { boundsOf, LIVE, type TimeRange } from './range.js';
import { momentText } from './range-text.js';
import { stepFor } from './steps.js';

/** What is shown of a range without a beginning, in ms. */
const DEFAULT_MS = 15 * 60_000;
const RELOAD_MS = 5000;
/** Least width of a bar, in px, and bars at most. */
const BAR = { px: 7, most: 180 };
/** A shorter way of the pointer is a click, in px. */
const CLICK_PX = 4;
/** Least height of a bar's part, as a share of the height: one error is seen under a thousand lines. */
const LEAST: Readonly<Record<Severity, number>> = {
  error: 0.12,
  warn: 0.08,
  state: 0.04,
  info: 0.02,
};

interface Props {
  /** Counts of what is shown; another one counts again. */
  ask: AskStats;
  /** Steps must be a multiple of this, in s. */
  leastStepS: number;
}

export function HistogramView({ ask, leastStepS }: Props) {
  const range = timeRange.value;
  const width = useWidth();
  const histogram = useMemo(() => new Histogram(ask), [ask]);
  void histogram.version.value;
  useEffect(() => {
    const load = (): void => {
      const now = serverNow();
      void histogram.show(barsOf(range, now, width, leastStepS), now);
    };
    load();
    const timer =
      range.toMs === undefined
        ? setInterval(() => !document.hidden && !histogram.isCounting && load(), RELOAD_MS)
        : undefined;
    return () => {
      clearInterval(timer);
      histogram.close();
    };
  }, [histogram, range, width, leastStepS]);
  const { bars } = histogram;
  return bars ? <Drawn histogram={histogram} bars={bars} range={range} /> : null;
}

function barsOf(range: TimeRange, nowMs: number, width: number, leastStepS: number): Bars {
  const { fromMs, toMs = nowMs } = boundsOf(range, nowMs);
  const from = fromMs ?? toMs - DEFAULT_MS;
  const most = Math.max(20, Math.min(BAR.most, Math.floor(width / BAR.px)));
  const step = stepFor(toMs - from, most);
  const stepS = Math.ceil(step / leastStepS) * leastStepS;
  return {
    fromS: Math.floor(from / 1000 / stepS) * stepS,
    toS: Math.ceil(toMs / 1000 / stepS) * stepS,
    stepS,
  };
}

function Drawn({ histogram, bars, range }: { histogram: Histogram; bars: Bars; range: TimeRange }) {
  void histogram.version.value;
  const { fromS, toS, stepS } = bars;
  const count = Math.max(1, Math.round((toS - fromS) / stepS));
  /** Bars under the pointer or at the keys; `first` is where a drag or a selection has begun. */
  const [marked, setMarked] = useState<{ first: number; last: number }>();
  const drag = useRef<{ x: number; first: number } | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const { momentMs } = range;
  const begin = (bar: number): number => (fromS + bar * stepS) * 1000;
  const barAt = (clientX: number): number => {
    const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.max(0, Math.min(count - 1, Math.floor(((clientX - left) / width) * count)));
  };
  const zoom = ({ first, last }: { first: number; last: number }): void => {
    const [from, to] = [Math.min(first, last), Math.max(first, last)];
    const toMs = begin(to + 1);
    setMarked(undefined);
    // What reaches to now stays live.
    if (toMs >= serverNow()) showRange({ ...LIVE, from: { ms: begin(from) } });
    else showRange({ from: { ms: begin(from) }, toMs, momentMs: undefined });
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const end = { Home: 0, End: count - 1 }[event.key];
    const now = marked?.last ?? count - 1;
    if (by !== undefined || end !== undefined) {
      const last = end ?? Math.max(0, Math.min(count - 1, marked ? now + (by ?? 0) : now));
      setMarked({ first: event.shiftKey ? (marked?.first ?? now) : last, last });
    } else if (event.key === 'Enter' && marked) {
      if (marked.first === marked.last) showMoment(begin(marked.last));
      else zoom(marked);
    } else if (event.key === 'Escape' && marked) setMarked(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = marked ?? { first: count - 1, last: count - 1 };
  const [low, high] = [Math.min(shown.first, shown.last), Math.max(shown.first, shown.last)];
  const text = t('range.counts', {
    from: momentText(begin(low)),
    to: momentText(begin(high + 1)),
    counts: countsText(sumOf(histogram, begin(low) / 1000, begin(high + 1) / 1000, stepS)),
  });
  return (
    <div class="histogram">
      <div
        ref={box}
        class="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label={t('range.histogram')}
        aria-valuemin={0}
        aria-valuemax={count - 1}
        aria-valuenow={shown.last}
        aria-valuetext={text}
        title={t('range.dragHint')}
        onKeyDown={press}
        onBlur={() => setMarked(undefined)}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          drag.current = { x: event.clientX, first: barAt(event.clientX) };
        }}
        onPointerMove={({ clientX }) => {
          const last = barAt(clientX);
          setMarked({ first: drag.current?.first ?? last, last });
        }}
        onPointerUp={({ clientX }) => {
          const begun = drag.current;
          drag.current = undefined;
          if (!begun) return;
          const last = barAt(clientX);
          if (Math.abs(clientX - begun.x) >= CLICK_PX) zoom({ first: begun.first, last });
          else showMoment(begin(last));
        }}
        onPointerCancel={() => {
          drag.current = undefined;
          setMarked(undefined);
        }}
        onPointerLeave={() => drag.current === undefined && setMarked(undefined)}
      >
        <svg viewBox={`0 0 ${count} 1`} preserveAspectRatio="none" aria-hidden="true">
          <Paths histogram={histogram} bars={bars} count={count} />
        </svg>
        {marked ? (
          <span
            class="histogram-mark"
            style={{
              left: `${(low / count) * 100}%`,
              width: `${((high - low + 1) / count) * 100}%`,
            }}
          />
        ) : null}
        {momentMs === undefined ? null : (
          <span
            class="histogram-moment"
            style={{ left: `${((momentMs / 1000 - fromS) / (toS - fromS)) * 100}%` }}
          />
        )}
      </div>
      <p class="histogram-text muted">
        <span>{timeOf(begin(0), stepS)}</span>
        <span class="histogram-said">
          {histogram.error
            ? t('range.noCounts', { reason: histogram.error.message })
            : marked
              ? text
              : histogram.isCounting
                ? t('range.counting')
                : countsText(sumOf(histogram, fromS, toS, stepS))}
        </span>
        <span>{range.toMs === undefined ? t('moment.now') : timeOf(begin(count), stepS)}</span>
      </p>
    </div>
  );
}

/** A path for each severity: elements are few, however many bars. */
function Paths({ histogram, bars, count }: { histogram: Histogram; bars: Bars; count: number }) {
  void histogram.version.value;
  const { fromS, stepS } = bars;
  const counts = Array.from({ length: count }, (_, bar) => histogram.at(fromS + bar * stepS));
  const totals = counts.map((one) =>
    one ? SEVERITIES.reduce((sum, name) => sum + one[name], 0) : 0,
  );
  const most = Math.max(1, ...totals);
  const paths = Object.fromEntries(SEVERITIES.map((name) => [name, ''])) as Record<
    Severity,
    string
  >;
  for (const [bar, one] of counts.entries()) {
    if (!one) continue;
    let y = 1;
    for (const name of SEVERITIES) {
      const share = one[name] === 0 ? 0 : Math.max(LEAST[name], one[name] / most);
      const height = Math.min(share, y);
      if (height <= 0) continue;
      y -= height;
      paths[name] += `M${bar + 0.06} ${y.toFixed(4)}h.88v${height.toFixed(4)}h-.88z`;
    }
  }
  return (
    <>
      {SEVERITIES.map((name) => (
        <path key={name} class={`bar-${name}`} d={paths[name]} />
      ))}
    </>
  );
}

function sumOf(histogram: Histogram, fromS: number, toS: number, stepS: number): Counts {
  const sum = { error: 0, warn: 0, state: 0, info: 0 };
  for (let at = fromS; at < toS; at += stepS) {
    const one = histogram.at(at);
    if (one) for (const name of SEVERITIES) sum[name] += one[name];
  }
  return sum;
}

/** `12 errors, 3 warnings, 1,200 other lines`. */
function countsText({ error, warn, state, info }: Counts): string {
  const rest = state + info;
  const of = (n: number, key: 'errors' | 'warnings' | 'others'): string[] =>
    n === 0 ? [] : [t(`range.${key}`, { n })];
  const serious = [...of(error, 'errors'), ...of(warn, 'warnings')];
  if (serious.length > 0) return [...serious, ...of(rest, 'others')].join(', ');
  return rest === 0 ? t('range.noLines') : t('count.lines', { n: rest });
}

function timeOf(ms: number, stepS: number): string {
  if (stepS >= 86_400) return day(ms);
  const clock = clockTime(ms).slice(0, stepS < 60 ? 8 : 5);
  return day(ms) === day(serverNow()) ? clock : `${shortDay(ms)} ${clock}`;
}
