import { beforeEach, expect, it } from 'vitest';
import { bots } from '../../../dashboard/src/model/live.js';
import { ORDERS, type Problem, problemTest } from '../../../dashboard/src/problems/problem.js';
import type { BotSnapshot, IncidentGroup, Rule } from '../../../src/client/index.js';
import { parseTerms } from '../../../src/shared/query/parse-query.js';

const snapshot = (id: string, team: string): BotSnapshot => ({
  id,
  kind: 'painter',
  status: 'painting',
  desired: 'running',
  since_ms: 0,
  started_at_ms: null,
  restarts: 0,
  host: 0,
  labels: { team },
  last_error: null,
  data: {},
  usage: null,
  over_quota: [],
});
const group: IncidentGroup = {
  cause: '0123456789abcdef',
  latest: 'incident-1',
  type: 'crash',
  title: 'no reply from <address>',
  where: 'in reply (kinds/painter.js)',
  reason: 'no reply from 10.0.0.1',
  count: 7,
  counts: [3, 0, 4],
  first_at_ms: 100,
  last_at_ms: 900,
  bots: ['trader-1', 'trader-2'],
  bot_count: 2,
  fallen: 2,
};
const rule: Rule = {
  id: 'rule-1',
  name: 'no paint',
  query: 'paint',
  condition: 'count',
  threshold: 2,
  window_ms: 60_000,
  for_ms: 0,
  severity: 'warn',
  enabled: true,
  state: 'firing',
  since_ms: 500,
  value: 3,
  bots: ['trader-2'],
  reason: null,
} as Rule;
const cause: Problem = { group };
const alert: Problem = { rule };
const judge = (query: string, problem: Problem): boolean | undefined =>
  problemTest(parseTerms(query, 'lines').map(({ term }) => term))(problem);

beforeEach(() => {
  bots.clear();
  bots.set('trader-1', snapshot('trader-1', 'art'));
  bots.set('trader-2', snapshot('trader-2', 'trade'));
});

it.each([
  ['', true, true],
  ['"no reply"', true, false],
  ['painter.js', true, false],
  ['"no paint"', false, true],
  ['level:error', true, false],
  ['level:warn', false, true],
  ['bot:trader-1', true, false],
  ['label:team=trade', true, true],
  ['-bot:trader-2', true, false],
  ['scope:tcp', false, false],
])('the query %s selects the cause: %s, the alert: %s', (query, ofCause, ofAlert) => {
  expect(judge(query, cause)).toBe(ofCause);
  expect(judge(query, alert)).toBe(ofAlert);
});

it('what depends on bots that are not listed is unknown, not left out', () => {
  const many: Problem = { group: { ...group, bot_count: 900 } };
  expect(judge('bot:trader-777', many)).toBeUndefined();
  expect(judge('label:team=none', many)).toBeUndefined();
  expect(judge('level:warn', many)).toBe(false);
  expect(judge('bot:trader-1', many)).toBe(true);
});

it('has one order for both: a rule that fires is the latest', () => {
  expect(ORDERS.last(alert)).toBeGreaterThan(ORDERS.last(cause));
  expect(ORDERS.first(alert)).toBe(500);
  expect(ORDERS.count(cause)).toBe(7);
  expect(ORDERS.bots(cause)).toBe(2);
});
