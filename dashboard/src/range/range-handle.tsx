// The handle of the time range: the moment in it that the page shows. Its right end is now while the range is live.

import { useEffect, useRef, useState } from 'preact/hooks';
import { fullTime, second, serverNow } from '../model/time.js';
import { isLive, presentBounds, showMoment, shownMoment } from '../model/time-range.js';
import { t } from '../texts/text.js';
import { momentText } from './range-text.js';

/** The length of the slider for a range without a start, in ms. */
const DEFAULT_MS = 15 * 60_000;
/** Steps of the slider over its whole length. */
const STEPS = 180;
/** The address is written this often at most while the slider moves, in ms: browsers limit that. */
const WRITE_MS = 150;

export function RangeHandle() {
  void second.value;
  const { fromMs, toMs = serverNow() } = presentBounds();
  const from = fromMs ?? toMs - DEFAULT_MS;
  const step = Math.max(1000, Math.round((toMs - from) / STEPS / 1000) * 1000);
  const shown = shownMoment.value;
  /** While the slider moves. */
  const [moved, setMoved] = useState<number>();
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => setMoved(undefined), [shown]);
  const at = moved ?? shown ?? toMs;
  const move = (ms: number): void => {
    const next = Math.max(from, Math.min(toMs, ms));
    setMoved(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (isLive.peek() && next >= toMs - step) setMoved(undefined);
      else showMoment(next);
    }, WRITE_MS);
  };
  const isNow = isLive.value && moved === undefined;
  const text = isNow ? t('moment.now') : momentText(Math.round(at / 1000) * 1000);
  return (
    <div class="moment range-handle" data-moment={shown}>
      <input
        type="range"
        aria-label={t('moment.title')}
        aria-valuetext={text}
        min={0}
        max={toMs - from}
        step={step}
        value={at - from}
        onInput={({ currentTarget }) => move(from + Number(currentTarget.value))}
      />
      <output title={fullTime(at)}>{text}</output>
    </div>
  );
}
