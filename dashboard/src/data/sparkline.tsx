import { t } from '../texts/text.js';
import { valueText } from './flatten.js';
import { boundsOf, type Step, sparkPath } from './series.js';

const WIDTH = 96;
const HEIGHT = 22;
/** Margin for the width of the line. */
const EDGE = 1.5;

/** A small line chart of a number; nothing if there was no number. */
export function Sparkline({
  steps,
  from,
  to,
}: {
  steps: readonly Step[];
  from: number;
  to: number;
}) {
  const bounds = boundsOf(steps);
  if (!bounds) return null;
  const size = { width: WIDTH - 2 * EDGE, height: HEIGHT - 2 * EDGE };
  const range =
    bounds.min === bounds.max
      ? t('data.always', { value: valueText(bounds.min) })
      : t('data.fromTo', { min: valueText(bounds.min), max: valueText(bounds.max) });
  return (
    <svg
      class="field-sparkline"
      viewBox={`${-EDGE} ${-EDGE} ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={t('data.lastHour', { range })}
    >
      <path d={sparkPath(steps, { from, to, ...size })} />
    </svg>
  );
}
