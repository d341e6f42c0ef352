// Bars of counts over time. Drag over them for a range, click for a moment; with the keyboard it is a slider.

import { useRef, useState } from 'preact/hooks';
import { t } from '../texts/text.js';
import { type Counts, SEVERITIES, type Severity } from './histogram.js';

/** A shorter movement of the pointer is a click, in px. */
const CLICK_PX = 4;
/** Least height of a bar's part, as a share of the height: one error is seen under a thousand lines. */
const LEAST: Readonly<Record<Severity, number>> = {
  error: 0.12,
  warn: 0.08,
  state: 0.04,
  info: 0.02,
};

interface Props {
  name: string;
  /** From left to right; undefined for a bar that is not counted yet. */
  counts: readonly (Counts | undefined)[];
  /** What the bars from one to another stand for, in words. */
  textOf: (first: number, last: number) => string;
  /** At the left and at the right end. */
  ends: readonly [string, string];
  /** Below the bars, while none is marked. */
  said: string;
  /** Where a moment is marked, as a share of the width. */
  moment: number | undefined;
  /** What was done at a moment, which is a share of the width. */
  marks: readonly { at: number; text: string }[];
  onRange: (first: number, last: number) => void;
  onMoment: (bar: number) => void;
}

export function BarsView(props: Props) {
  const { name, counts, textOf, ends, said, moment, marks, onRange, onMoment } = props;
  const count = counts.length;
  /** Bars under the pointer or at the keys; `first` is where a drag or a selection started. */
  const [marked, setMarked] = useState<{ first: number; last: number }>();
  const drag = useRef<{ x: number; first: number } | undefined>(undefined);
  const box = useRef<HTMLDivElement>(null);
  const barAt = (clientX: number): number => {
    const { left, width } = box.current?.getBoundingClientRect() ?? { left: 0, width: 1 };
    return Math.max(0, Math.min(count - 1, Math.floor(((clientX - left) / width) * count)));
  };
  const zoom = ({ first, last }: { first: number; last: number }): void => {
    setMarked(undefined);
    onRange(Math.min(first, last), Math.max(first, last));
  };
  const press = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const end = { Home: 0, End: count - 1 }[event.key];
    const now = marked?.last ?? count - 1;
    if (by !== undefined || end !== undefined) {
      const last = end ?? Math.max(0, Math.min(count - 1, marked ? now + (by ?? 0) : now));
      setMarked({ first: event.shiftKey ? (marked?.first ?? now) : last, last });
    } else if (event.key === 'Enter' && marked) {
      if (marked.first === marked.last) onMoment(marked.last);
      else zoom(marked);
    } else if (event.key === 'Escape' && marked) setMarked(undefined);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const shown = marked ?? { first: count - 1, last: count - 1 };
  const [low, high] = [Math.min(shown.first, shown.last), Math.max(shown.first, shown.last)];
  const text = textOf(low, high);
  return (
    <div class="histogram">
      <div
        ref={box}
        class="histogram-bars"
        role="slider"
        tabIndex={0}
        aria-label={name}
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
          const dragStart = drag.current;
          drag.current = undefined;
          if (!dragStart) return;
          const last = barAt(clientX);
          if (Math.abs(clientX - dragStart.x) >= CLICK_PX) zoom({ first: dragStart.first, last });
          else onMoment(last);
        }}
        onPointerCancel={() => {
          drag.current = undefined;
          setMarked(undefined);
        }}
        onPointerLeave={() => drag.current === undefined && setMarked(undefined)}
      >
        <svg viewBox={`0 0 ${count} 1`} preserveAspectRatio="none" aria-hidden="true">
          <Paths counts={counts} />
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
        {marks.map(({ at, text: done }, number) => (
          <span key={number} class="histogram-done" style={{ left: `${at * 100}%` }} title={done} />
        ))}
        {moment === undefined ? null : (
          <span class="histogram-moment" style={{ left: `${moment * 100}%` }} />
        )}
      </div>
      <p class="histogram-text muted">
        <span>{ends[0]}</span>
        <span class="histogram-said">{marked ? text : said}</span>
        <span>{ends[1]}</span>
      </p>
    </div>
  );
}

/** A path for each severity: elements are few, however many bars. */
function Paths({ counts }: { counts: readonly (Counts | undefined)[] }) {
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

/** The sum of the bars from one to another. */
export function sumOf(
  counts: readonly (Counts | undefined)[],
  first: number,
  last: number,
): Counts {
  const sum = { error: 0, warn: 0, state: 0, info: 0 };
  for (const one of counts.slice(first, last + 1)) {
    if (one) for (const name of SEVERITIES) sum[name] += one[name];
  }
  return sum;
}

/** `12 errors, 3 warnings, 1,200 other lines`. */
export function countsText({ error, warn, state, info }: Counts): string {
  const rest = state + info;
  const of = (n: number, key: 'errors' | 'warnings' | 'others'): string[] =>
    n === 0 ? [] : [t(`range.${key}`, { n })];
  const serious = [...of(error, 'errors'), ...of(warn, 'warnings')];
  if (serious.length > 0) return [...serious, ...of(rest, 'others')].join(', ');
  return rest === 0 ? t('range.noLines') : t('count.lines', { n: rest });
}
