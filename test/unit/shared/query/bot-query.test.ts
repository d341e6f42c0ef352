import { expect, it, vi } from 'vitest';
import { botTest, type QueriedBot } from '../../../../src/shared/query/bot-query.js';
import { parseQuery } from '../../../../src/shared/query/parse-query.js';

const NOW = 1_800_000_000_000;
const bot: QueriedBot = {
  id: 'demo-1',
  kind: 'demo',
  status: 'failed',
  desired: 'running',
  since_ms: NOW - 600_000,
  restarts: 4,
  host: null,
  last_error: 'Timeout while connecting',
  labels: { team: 'a', zone: 'eu west' },
  data: { gold: 100, name: 'Ann', at: { x: 3, 'y.z': 4 }, list: [5], is: true, none: null },
  node: 'h1',
};

it.each([
  ['', true],
  ['status:failed', true],
  ['status:fail', false],
  ['status:fail*', true],
  ['status:stopped,failed', true],
  ['-status:failed', false],
  ['status:failed kind:irc', false],
  ['bot:demo-* id:*-1 session:d*o*1', true],
  ['bot:demo', false],
  ['desired:running', true],
  ['label:team', true],
  ['label:team=a', true],
  ['label:team=b,team=a', true],
  ['label:zone="eu west" label:zone=eu*', true],
  ['label:toString', false],
  ['-label:crew', true],
  ['node:h1 -node:h2', true],
  ['host:*', false],
  ['-host:*', true],
  ['restarts>3 restarts<=4 restarts:4,9', true],
  ['restarts>4', false],
  ['last_error:TIMEOUT error:while*conn', true],
  ['last_error:*', true],
  ['last_error:reset', false],
  ['since>9m since<11m since<=10m', true],
  ['since>1h', false],
  ['data.gold<100', false],
  ['data.gold<=100 data.gold:100,7 data.gold:1e2', true],
  ['data.name:Ann data.name:A*', true],
  ['data.name<5', false],
  ['data.at.x:3 data.at.y.z>3', true],
  ['data.list.0:5 data.list:[5]', true],
  ['data.is:true data.none:null', true],
  ['data.absent:*', false],
  ['data.toString:*', false],
  ['-data.absent<5', true],
  ['"team=A"', true],
  ['timeout demo h1 eu', true],
  ['-timeout', false],
  ['/^demo-\\d$/ /timeout/i -/irc/', true],
])('%s: %s', (query, is) => {
  expect(botTest(parseQuery(query, 'bots'))(bot, NOW)).toBe(is);
});

it('makes the text of a list once for all terms about it', () => {
  const toJSON = vi.fn(() => [5, 6]);
  const data = { list: { toJSON }, other: { toJSON } } as unknown as QueriedBot['data'];
  const terms = Array.from({ length: 25 }, () => '-data.list:[7* -data.other:*8]').join(' ');
  expect(botTest(parseQuery(terms, 'bots'))({ ...bot, data }, 0)).toBe(true);
  expect(toJSON).toHaveBeenCalledTimes(2);
});
