import { short } from '../parts/short.js';
import { t } from '../texts/text.js';
import type { FlowSeries } from './flow-series.js';
import { severityPath } from './severity-path.js';

const LEVELS: readonly string[] = ['error', 'warn'];

/** Errors and warnings below the chart, each in its own line: in the chart they are too thin to see beside many other lines. */
export function SeverityStrip({ series }: Pick<FlowSeries, 'series'>) {
  return (
    <div class="severity">
      {series
        .filter(({ name }) => LEVELS.includes(name))
        .map(({ name, colour, values }) => (
          <div key={name} class="severity-line" data-severity={name}>
            <span class="muted" aria-hidden="true">
              {name}
            </span>
            <svg
              viewBox={`0 0 ${Math.max(1, values.length)} 1`}
              preserveAspectRatio="none"
              role="img"
              aria-label={textOf(name, values)}
            >
              <path d={severityPath(values)} style={{ fill: `var(--${colour})` }} />
            </svg>
          </div>
        ))}
    </div>
  );
}

function textOf(name: string, values: readonly number[]): string {
  const most = Math.max(0, ...values);
  const count = values.filter((value) => value > 0).length;
  return most === 0
    ? t('severity.none', { level: name })
    : t('severity.some', { level: name, n: count, steps: values.length, rate: short(most) });
}
