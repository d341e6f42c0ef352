// What happened beside incidents, from lines of the stream and incident reports.

import { expect, it } from 'vitest';
import { happeningsOf, happeningText } from '../../../dashboard/src/problems/happenings.js';
import type { Incident, IncidentGroup, StreamEvent } from '../../../src/client/index.js';

const AT = 1_795_257_600_000;

function line(
  at: number,
  scope: string,
  message: string,
  bot: string | null,
  level = 'info',
): StreamEvent {
  const wire = { transport: null, direction: null };
  const data = { timestamp_ms: AT + at, level, scope, session_id: bot, message, ...wire };
  return { event: 'log', id: `e-${at}`, data } as StreamEvent;
}
const loss = (at: number, more: Partial<Incident>): Incident =>
  ({
    at_ms: AT + at,
    type: 'hang',
    host: 3,
    bots: ['a', 'b'],
    bot_count: 1890,
    suspect: null,
    ...more,
  }) as Incident;
const shown = (...[events, losses = [], groups = []]: Partial<Parameters<typeof happeningsOf>>) =>
  happeningsOf(events ?? [], losses, groups).map((one) => `${one.lane}: ${happeningText(one)}`);

it('a command to many bots within a short time is one, apart from those that fail', () => {
  const events = [
    line(0, 'dispatch', 'say -> {"said":1}', 'a'),
    line(100, 'dispatch', 'say -> {"said":2}', 'b'),
    line(200, 'dispatch', 'say failed: bot c is not running', 'c', 'error'),
    line(300, 'dispatch', 'say -> null', 'a'),
    line(60_000, 'dispatch', 'say -> null', 'a'),
    line(70_000, 'dispatch', 'gc -> null', null),
  ];
  const expected = [
    'command: gc',
    'command: say, a',
    'command: say failed, c',
    'command: say, a, b, 3 times',
  ];
  expect(shown(events)).toEqual(expected);
  // In any order, as the pages of the journal come.
  expect(shown(events.toReversed())).toEqual(expected);
});

const changed = (name: string): string =>
  `changed by "Ada": {"config":{"${name}":{"from":1,"to":2}}}`;

it('requests, changes and starts of the service are told apart', () => {
  const many = 'restart requested for 1,890 bots: a, b and 1,888 more';
  expect(
    shown([
      line(0, 'drover.control', 'the service has started: Drover 1.1.0, before it 1.0.0', null),
      line(1000, 'drover.config', changed('gold'), 'a'),
      ...['b', 'c', 'd', 'e'].map((bot) => line(2000, 'drover.config', changed('gold'), bot)),
      line(3000, 'drover.config', changed('name'), 'b'),
      line(4000, 'drover.control', 'stop requested', 'a'),
      line(5000, 'drover.control', many, null),
      line(6000, 'bot', 'no happening', 'a'),
    ]),
  ).toEqual([
    'request: restart, 1,890 bots',
    'request: stop, a',
    'change: configuration changed by Ada: name, b',
    'change: configuration changed by Ada: gold, 5 bots',
    'deployment: the service has started: Drover 1.1.0, before it 1.0.0',
  ]);
});

it('the loss of a host says how many bots went down, and incidents of a bot alone are none', () => {
  expect(
    shown(
      [],
      [
        loss(0, {}),
        loss(1000, { type: 'crash' }),
        loss(2000, { type: 'out_of_memory', node: 'h2', suspect: 'a' }),
        loss(3000, { type: 'unclean_end', host: null, bot_count: 1 }),
      ],
    ),
  ).toEqual([
    'loss: 1 bot went down with the service',
    'loss: 1,890 bots went down with host 3 of h2, suspect: a',
    'loss: 1,890 bots went down with host 3',
  ]);
});

it('the first incident of each cause leads to it', () => {
  const group = { first_at_ms: AT, title: 'no world', cause: 'c', bots: ['a'], count: 1204 };
  const other = { ...group, cause: 'd' };
  const found = happeningsOf([], [], [group, other] as IncidentGroup[]);
  expect(found.map(({ cause }) => cause)).toEqual(['d', 'c']);
  expect(found.map(happeningText)).toEqual(Array(2).fill('first of 1,204: no world'));
});
