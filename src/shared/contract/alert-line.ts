import type { AlertEvent } from './rules.js';

/** An alert as a line of the log. */
export function alertLine({
  state,
  rule,
  since_ms,
  timestamp_ms,
  value,
  bots,
}: AlertEvent): string {
  const name = `rule ${JSON.stringify(rule.name)}`;
  if (state === 'resolved') {
    return `${name} is over after ${seconds(timestamp_ms - since_ms)}`;
  }
  const named = bots.length === 0 ? '' : `: ${bots.join(', ')}`;
  return `${name} fires: ${found(rule, value ?? 0)}${named}`;
}

function found({ condition, threshold, window_ms: window }: AlertEvent['rule'], value: number) {
  const limit = `at least ${threshold}`;
  switch (condition) {
    case 'count':
      return `${value} ${value === 1 ? 'line' : 'lines'} in ${seconds(window ?? 0)}, ${limit}`;
    case 'rate':
      return `${value} lines/s over ${seconds(window ?? 0)}, ${limit}`;
    case 'absence':
      return `no line for ${value} s`;
    case 'bots':
      return `${value} ${value === 1 ? 'bot' : 'bots'}, ${limit}`;
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`;
}
