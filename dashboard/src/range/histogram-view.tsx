// Bars of counts over a time range. Drag over them for a range, click for a moment; with the keyboard it is a slider.

import { useEffect, useMemo } from 'preact/hooks';
import { clockTime, day, serverNow, shortDay } from '../model/time.js';
import { showMoment, showRange, timeRange } from '../model/time-range.js';
import { useWidth } from '../model/width.js';
import { t } from '../texts/text.js';
import { BarsView, countsText, sumOf } from './bars-view.js';
import { type AskStats, type Bars, Histogram } from './histogram.js';
import { boundsOf, LIVE, type TimeRange } from './range.js';
import { momentText } from './range-text.js';
import { stepFor } from './steps.js';

/** What is shown of a range without a beginning, in ms. */
const DEFAULT_MS = 15 * 60_000;
const RELOAD_MS = 5000;
/** Least width of a bar, in px, and bars at most. */
const BAR = { px: 7, most: 180 };

interface Props {
  /** Counts of what is shown; another one counts again. */
  ask: AskStats;
  /** Steps must be a multiple of this, in s. */
  leastStepS: number;
  /** What people and programs did, with its time in ms. */
  marks: readonly { at: number; text: string }[];
}

export function HistogramView({ ask, leastStepS, marks }: Props) {
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
  return bars ? <Drawn histogram={histogram} bars={bars} range={range} marks={marks} /> : null;
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

function Drawn({
  histogram,
  bars,
  range,
  marks,
}: { histogram: Histogram; bars: Bars; range: TimeRange } & Pick<Props, 'marks'>) {
  void histogram.version.value;
  const { fromS, toS, stepS } = bars;
  const count = Math.max(1, Math.round((toS - fromS) / stepS));
  const { momentMs } = range;
  const begin = (bar: number): number => (fromS + bar * stepS) * 1000;
  const counts = Array.from({ length: count }, (_, bar) => histogram.at(fromS + bar * stepS));
  const zoom = (first: number, last: number): void => {
    const toMs = begin(last + 1);
    // A range that reaches to now stays live.
    if (toMs >= serverNow()) showRange({ ...LIVE, from: { ms: begin(first) } });
    else showRange({ from: { ms: begin(first) }, toMs, momentMs: undefined });
  };
  return (
    <BarsView
      name={t('range.histogram')}
      counts={counts}
      textOf={(first, last) =>
        t('range.counts', {
          from: momentText(begin(first)),
          to: momentText(begin(last + 1)),
          counts: countsText(sumOf(counts, first, last)),
        })
      }
      ends={[
        timeOf(begin(0), stepS),
        range.toMs === undefined ? t('moment.now') : timeOf(begin(count), stepS),
      ]}
      said={
        histogram.error
          ? t('range.noCounts', { reason: histogram.error.message })
          : histogram.isCounting
            ? t('range.counting')
            : countsText(sumOf(counts, 0, count - 1))
      }
      marks={marks
        .map(({ at, text }) => ({ at: (at / 1000 - fromS) / (toS - fromS), text }))
        .filter(({ at }) => at >= 0 && at <= 1)}
      moment={momentMs === undefined ? undefined : (momentMs / 1000 - fromS) / (toS - fromS)}
      onRange={zoom}
      onMoment={(bar) => showMoment(begin(bar))}
    />
  );
}

function timeOf(ms: number, stepS: number): string {
  if (stepS >= 86_400) return day(ms);
  const clock = clockTime(ms).slice(0, stepS < 60 ? 8 : 5);
  return day(ms) === day(serverNow()) ? clock : `${shortDay(ms)} ${clock}`;
}
