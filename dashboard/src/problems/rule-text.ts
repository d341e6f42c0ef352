import type { Condition, Rule, RuleState } from '../../../src/client/index.js';
import { span } from '../model/time.js';
import { type PlainKey, t } from '../texts/text.js';
import { rounded } from './alert-text.js';

export const CONDITION_TITLES: Readonly<Record<Condition, PlainKey>> = {
  count: 'alerts.count',
  rate: 'usage.lines',
  absence: 'alerts.absence',
  bots: 'alerts.bots',
};

/** When it fires, in words. */
export function conditionText(
  rule: Pick<Rule, 'condition' | 'threshold' | 'window_ms' | 'for_ms'>,
): string {
  const condition = withoutHold(rule);
  return rule.for_ms > 0 ? t('alerts.held', { condition, time: span(rule.for_ms) }) : condition;
}

function withoutHold({
  condition,
  threshold,
  window_ms: window,
}: Pick<Rule, 'condition' | 'threshold' | 'window_ms'>): string {
  const n = rounded(threshold ?? 0);
  const time = span(window ?? 0);
  switch (condition) {
    case 'count':
      return t('alerts.whenCount', { n, time });
    case 'rate':
      return t('alerts.whenRate', { n, time });
    case 'absence':
      return t('alerts.whenAbsence', { time });
    case 'bots':
      return t('alerts.whenBots', { n });
  }
}

/** What it has found. */
export function valueText({ condition, value }: Pick<Rule, 'condition' | 'value'>): string {
  if (value === null) return '–';
  const n = rounded(value);
  switch (condition) {
    case 'count':
      return t('count.lines', { n });
    case 'rate':
      return t('alerts.rate', { n });
    case 'absence':
      return t('alerts.without', { time: span(value * 1000) });
    case 'bots':
      return t('count.bots', { n });
  }
}

export const STATES: Readonly<
  Record<RuleState, { title: PlainKey; tone: 'good' | 'wait' | 'bad' | 'off' }>
> = {
  off: { title: 'alerts.off', tone: 'off' },
  refused: { title: 'alerts.refused', tone: 'wait' },
  unknown: { title: 'alerts.unknown', tone: 'wait' },
  ok: { title: 'alerts.ok', tone: 'good' },
  pending: { title: 'alerts.pending', tone: 'wait' },
  firing: { title: 'alerts.firing', tone: 'bad' },
};

/** Orders rules that need attention first. */
export const STATE_ORDER: readonly RuleState[] = [
  'firing',
  'refused',
  'unknown',
  'pending',
  'ok',
  'off',
];
