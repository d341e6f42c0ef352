/** The bars of a strip are at least this share of its length: one second of five minutes must be seen. */
const LEAST_SHARE = 1 / 250;
/** Share of the height of one event per second; thousands fill the rest. */
const LEAST_HEIGHT = 0.4;
const DECADES = 3;

/**
 * A bar for each moment with events, as an SVG path in a box of `values.length` by 1. The height grows with the logarithm: a few errors
 * are as easy to see beside thousands of other lines as alone.
 */
export function severityPath(values: readonly number[]): string {
  const width = Math.max(1, values.length * LEAST_SHARE);
  return values
    .map((value, at) => {
      if (value <= 0) return '';
      const share = Math.min(1, Math.log10(1 + value) / DECADES);
      const height = (LEAST_HEIGHT + share * (1 - LEAST_HEIGHT)).toFixed(3);
      return `M${Math.min(at, values.length - width).toFixed(1)} 1h${width.toFixed(1)}v-${height}h-${width.toFixed(1)}z`;
    })
    .join('');
}
