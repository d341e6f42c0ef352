import type { AlertEvent } from '../../../src/client/index.js';
import { type FiringLine, readFiringLine } from '../../../src/shared/contract/alert-line.js';
import { visible } from '../../../src/shared/contract/escapes.js';
import { numberText, t } from '../texts/text.js';

/** An alert in words, as the log has it. */
export function alertText(alert: AlertEvent): string {
  const { state, rule, value, bots } = alert;
  if (state === 'firing') return firingText({ rule, value: value ?? 0, bots });
  const time = secondsText(alert.timestamp_ms - alert.since_ms);
  return t('alerts.ruleOver', { name: visible(rule.name), time });
}

/** What a notification says. @param line the one of the log; as it is when nothing can be read from it. */
export function notificationText(line: string): string {
  const read = readFiringLine(line);
  return read ? firingText(read) : line;
}

function firingText({ rule, value, bots }: FiringLine): string {
  const name = visible(rule.name);
  const named = bots.length === 0 ? '' : `: ${visible(bots.join(', '))}`;
  return `${t('alerts.ruleFires', { name, found: foundText(rule, rounded(value)) })}${named}`;
}

function foundText(
  { condition, threshold, window_ms: window }: FiringLine['rule'],
  n: number,
): string {
  const time = secondsText(window ?? 0);
  const least = numberText(rounded(threshold ?? 0));
  switch (condition) {
    case 'count':
      return t('alerts.foundCount', { n, time, least });
    case 'rate':
      return t('alerts.foundRate', { n, time, least });
    case 'absence':
      return t('alerts.foundAbsence', { time: t('time.seconds', { n }) });
    case 'bots':
      return t('alerts.foundBots', { n, least });
  }
}

/** As the log has them, which is beside it. */
function secondsText(ms: number): string {
  return t('time.seconds', { n: Math.round(ms / 1000) });
}

/** Rates have many digits. */
export function rounded(value: number): number {
  return Math.round(value * 1000) / 1000;
}
