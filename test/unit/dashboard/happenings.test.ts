// What happened beside incidents, from lines of the stream and incident reports.

import { expect, it } from 'vitest';
import { happeningsOf, happeningText } from '../../../dashboard/src/problems/happenings.js';
import type {
  ActivityEvent,
  Incident,
  IncidentGroup,
  StreamEvent,
} from '../../../src/client/index.js';

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

function activity(at: number, more: Partial<ActivityEvent>): StreamEvent {
  const data = {
    timestamp_ms: AT + at,
    activity: 'command',
    actor: 'Ada',
    session_id: null,
    target: null,
    outcome: 'done',
    error: null,
    detail: null,
    ...more,
  };
  return { event: 'activity', id: `e-${at}`, data } as StreamEvent;
}
const say = { detail: { command: 'say' } };

it('a command to many bots within a short time is one, apart from those that fail', () => {
  const error = 'bot c is not running';
  const events = [
    activity(0, { ...say, session_id: 'a' }),
    activity(100, { ...say, session_id: 'b' }),
    activity(200, { ...say, session_id: 'c', outcome: 'failed', error }),
    activity(300, { ...say, session_id: 'a' }),
    activity(60_000, { ...say, session_id: 'a' }),
    activity(70_000, { detail: { command: 'ping' } }),
  ];
  const expected = [
    'command: Ada ran ping',
    'command: Ada ran say on a',
    'command: Ada could not run say on c: bot c is not running',
    'command: Ada ran say on a, b, 3 times',
  ];
  expect(shown(events)).toEqual(expected);
  // In any order, as the pages of the journal come.
  expect(shown(events.toReversed())).toEqual(expected);
});

const changed = (name: string): Partial<ActivityEvent> => ({
  activity: 'bot.update',
  detail: { change: { config: { [name]: { from: 1, to: 2 } } } },
});

it('requests, changes and starts of the service are told apart', () => {
  const bots = Array.from({ length: 1890 }, (_, n) => `bot-${n}`);
  expect(
    shown([
      line(0, 'drover.control', 'the service has started: Drover 1.1.0, before it 1.0.0', null),
      activity(1000, { ...changed('gold'), session_id: 'a' }),
      ...['b', 'c', 'd', 'e'].map((bot) => activity(2000, { ...changed('gold'), session_id: bot })),
      activity(3000, { ...changed('name'), session_id: 'b' }),
      activity(4000, { activity: 'bot.stop', session_id: 'a' }),
      ...bots.map((bot) => activity(5000, { activity: 'bot.restart', session_id: bot })),
      activity(5500, { activity: 'rule.delete', target: 'no gold' }),
      line(6000, 'bot', 'no happening', 'a'),
    ]),
  ).toEqual([
    'request: Ada deleted the rule no gold',
    'request: Ada restarted 1,000 bots, 1,890 times',
    'request: Ada stopped a',
    'change: Ada changed b: name',
    'change: Ada changed 5 bots: gold',
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
