// Alerts in words: a notification says what the line of the log says.

import { expect, it } from 'vitest';
import { alertText, notificationText } from '../../../dashboard/src/problems/alert-text.js';
import type { AlertEvent } from '../../../src/client/index.js';
import { alertLine, readFiringLine } from '../../../src/shared/contract/alert-line.js';

const alert = (
  rule: Partial<AlertEvent['rule']>,
  value: number,
  bots: string[] = [],
): AlertEvent => ({
  timestamp_ms: 1_795_257_586_000,
  since_ms: 1_795_257_586_000,
  state: 'firing',
  rule: {
    id: 'r',
    name: 'no paint',
    query: '',
    condition: 'count',
    threshold: 2,
    window_ms: 60_000,
    for_ms: 0,
    severity: 'warn',
    ...rule,
  },
  value,
  bots,
});

const FIRING = [
  alert({}, 2000, ['a', 'b']),
  alert({ threshold: 1 }, 1),
  alert({ condition: 'rate', threshold: 0.5, window_ms: 10_000 }, 1.25),
  alert({ condition: 'absence', threshold: null, window_ms: 5000 }, 5.5),
  alert({ condition: 'bots', window_ms: null }, 3, ['a']),
];

it.each(FIRING)('in the line, in the history and in a notification: %#', (event) => {
  const line = alertLine(event);
  expect(readFiringLine(line)).toMatchObject({ value: event.value, bots: event.bots });
  expect(alertText(event)).toBe(line.replace('2000', '2,000'));
  expect(notificationText(line)).toBe(alertText(event));
});

it('a name is read as it is, also one that looks like the rest of a line', () => {
  const name = 'x\\" fires: 1 bot, at least 1: y';
  const read = readFiringLine(alertLine(alert({ name }, 3)));
  expect(read?.rule).toEqual({ name, condition: 'count', threshold: 2, window_ms: 60_000 });
});

it('what cannot be read is shown as it is', () => {
  for (const line of ['rule "x" fires: 3 whales', 'rule "x" is over after 7 s', 'x']) {
    expect(notificationText(line)).toBe(line);
  }
});

it('an alert that is over says how long it was', () => {
  const over: AlertEvent = { ...alert({}, 2), state: 'resolved', since_ms: 1_795_257_579_000 };
  expect(alertText(over)).toBe(alertLine(over));
});
