// The moment that the herd shows, on a slider over the time range: its right end is now while the range is live.

import { useEffect, useRef, useState } from 'preact/hooks';
import { hrefIn } from '../model/route.js';
import { fullTime, second, serverNow } from '../model/time.js';
import { isLive, presentBounds, showMoment, shownMoment } from '../model/time-range.js';
import { Icon } from '../parts/icons.js';
import { momentText } from '../range/range-text.js';
import { t } from '../texts/text.js';
import { past, pastError } from './past.js';

/** What the slider has of a range without a beginning, in ms. */
const DEFAULT_MS = 15 * 60_000;
/** Steps of the slider over its whole length. */
const STEPS = 180;
/** The address is written this often at most while the slider moves, in ms: browsers bound how often it may be. */
const WRITE_MS = 150;
/** Unknown bots that are named. */
const MAX_NAMED = 5;

export function Moment() {
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
    <div class="moment" data-moment={shown}>
      <button
        type="button"
        class="quiet square"
        aria-label={t('moment.earlier')}
        title={t('moment.earlier')}
        onClick={() => move(at - step)}
      >
        <Icon name="left" />
      </button>
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
      <button
        type="button"
        class="quiet square"
        aria-label={t('moment.later')}
        title={t('moment.later')}
        aria-disabled={isNow}
        onClick={() => move(at + step)}
      >
        <Icon name="right" />
      </button>
      <output title={fullTime(at)}>{text}</output>
      {shown === undefined ? null : <Notes shown={shown} />}
    </div>
  );
}

/** What is not known of the moment. */
function Notes({ shown }: { shown: number }) {
  const { value: found } = past;
  const { unknown = [], missing = [] } = found ?? {};
  const knownFrom = found?.known_from_ms ?? null;
  const notes: string[] = [];
  if (pastError.value) notes.push(t('moment.noStates', { reason: pastError.value.message }));
  if (unknown.length > 0) {
    const named = unknown.slice(0, MAX_NAMED).join(', ');
    const more = unknown.length - MAX_NAMED;
    notes.push(
      t('moment.unknown', {
        n: unknown.length,
        names: more > 0 ? `${named} ${t('count.more', { n: more })}` : named,
      }),
    );
  }
  if (knownFrom !== null && shown < knownFrom) {
    notes.push(t('moment.knownFrom', { time: momentText(knownFrom) }));
  }
  if (found && knownFrom === null) notes.push(t('moment.noneYet'));
  if (found?.is_in_gap) {
    notes.push(t('moment.gap'));
  }
  for (const { node, reason } of missing) {
    notes.push(t('moment.missingNode', { node, reason }));
  }
  return (
    <>
      <a href={hrefIn('log')}>
        {t('moment.log')}
        <Icon name="right" />
      </a>
      {notes.length === 0 ? null : (
        <p class="moment-notes" role="status">
          {notes.join(' ')}
        </p>
      )}
    </>
  );
}
