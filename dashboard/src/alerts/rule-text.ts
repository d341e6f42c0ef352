import type { Condition, Rule, RuleState } from '../../../src/client/index.js';
import { span } from '../model/time.js';

export const CONDITION_TITLES: Readonly<Record<Condition, string>> = {
  count: 'Lines within a window',
  rate: 'Lines per second',
  absence: 'No line for a while',
  bots: 'Bots that match',
};

/** When it fires, in words. */
export function conditionText({
  condition,
  threshold,
  window_ms: window,
  for_ms: held,
}: Pick<Rule, 'condition' | 'threshold' | 'window_ms' | 'for_ms'>): string {
  const least = threshold?.toLocaleString('en') ?? '';
  const within = span(window ?? 0);
  const hold = held > 0 ? `, for ${span(held)}` : '';
  switch (condition) {
    case 'count':
      return `at least ${least} ${threshold === 1 ? 'line' : 'lines'} in ${within}${hold}`;
    case 'rate':
      return `at least ${least} lines/s over ${within}${hold}`;
    case 'absence':
      return `no line for ${within}${hold}`;
    case 'bots':
      return `at least ${least} ${threshold === 1 ? 'bot' : 'bots'}${hold}`;
  }
}

/** What it has found. */
export function valueText({ condition, value }: Pick<Rule, 'condition' | 'value'>): string {
  if (value === null) return '–';
  const shown = value.toLocaleString('en');
  switch (condition) {
    case 'count':
      return `${shown} ${value === 1 ? 'line' : 'lines'}`;
    case 'rate':
      return `${shown} lines/s`;
    case 'absence':
      return `${span(value * 1000)} without`;
    case 'bots':
      return `${shown} ${value === 1 ? 'bot' : 'bots'}`;
  }
}

export const STATES: Readonly<
  Record<RuleState, { title: string; tone: 'good' | 'wait' | 'bad' | 'off' }>
> = {
  off: { title: 'Off', tone: 'off' },
  ok: { title: 'OK', tone: 'good' },
  pending: { title: 'Pending', tone: 'wait' },
  firing: { title: 'Firing', tone: 'bad' },
};

/** Those that need a person first. */
export const STATE_ORDER: readonly RuleState[] = ['firing', 'pending', 'ok', 'off'];
