// The status history of a bot, from the journal and from the stream.

import { expect, it } from 'vitest';
import { type Change, statusPeriods } from '../../../dashboard/src/views/status-periods.js';

/** `a1 b2`: the status a at 1, b at 2. */
function changes(text: string): Change[] {
  return text.split(' ').flatMap(([status = '', at]) => (at ? [{ status, at: Number(at) }] : []));
}
function order(...sources: string[]): string {
  return statusPeriods(...sources.map(changes))
    .map(({ status, from }) => `${status}${from}`)
    .join(' ');
}

it.each([
  ['each once, oldest first', ['a1 b2', 'b2 c3'], 'a1 b2 c3'],
  ['those of one millisecond in their order', ['a1 b2 c2 d2', 'd2 e3'], 'a1 b2 c2 d2 e3'],
  ['those of one millisecond, of which the stream had the last', ['a1 b2 c2', 'c2'], 'a1 b2 c2'],
  ['a status that was entered twice in one millisecond', ['a1 b1 a1', 'b1 a1'], 'a1 b1 a1'],
  ['what the journal has not written yet', ['a1', 'c3 d3', 'd3'], 'a1 c3 d3'],
  ['the current one alone', ['', '', 'a1'], 'a1'],
])('has %s', (_, sources, expected) => {
  expect(order(...sources)).toBe(expected);
});

it('ends each where the next begins', () => {
  expect(statusPeriods(changes('a1 b1 c5'))).toEqual([
    { status: 'a', from: 1, to: 1 },
    { status: 'b', from: 1, to: 5 },
    { status: 'c', from: 5, to: undefined },
  ]);
});
