import { expect, it } from 'vitest';
import {
  botCondition,
  lineQuery,
  lineTest,
  type QueriedLine,
} from '../../../../src/shared/query/line-query.js';
import { parseQuery } from '../../../../src/shared/query/parse-query.js';

const line: QueriedLine = {
  event: 'log',
  level: 'warn',
  scope: 'tcp',
  bot: 'demo-1',
  node: null,
  transport: 'tcp',
  direction: 'incoming',
  text: 'Pong in 30 ms',
};
const ofService: QueriedLine = { ...line, bot: null, transport: null, direction: null };

it.each([
  ['', true, true],
  ['event:log', true, true],
  ['-event:log', false, false],
  ['level:warn,error', true, true],
  ['scope:t* -scope:http', true, true],
  ['bot:demo-1', true, false],
  ['-bot:demo-1', false, true],
  ['-bot:*', false, true],
  ['transport:*', true, false],
  ['direction:incoming', true, false],
  ['node:h1', false, false],
  ['-node:h1', true, true],
  ['pong "30 MS"', true, true],
  ['-pong', false, false],
  ['/^Pong in \\d+ ms$/', true, true],
  ['/^pong/', false, false],
])('%s: %s of a bot, %s of the service', (query, ofBot, ofNone) => {
  const { line: terms } = lineQuery(parseQuery(query, 'lines'));
  expect(lineTest(terms)(line)).toBe(ofBot);
  expect(lineTest(terms)(ofService)).toBe(ofNone);
});

it('finds a text in what the JSON of other events says', () => {
  const text = JSON.stringify({ snapshot: { data: { said: 'the "king"\n' } } });
  const finds = (query: string): boolean =>
    lineTest(parseQuery(query, 'lines'))({ ...line, event: 'session', text });
  expect(['king', '"the \\"KING\\""', '"\\"said\\""', 'snapshot', 'queen'].map(finds)).toEqual([
    true,
    true,
    false,
    true,
    false,
  ]);
});

it('leaves terms about the bot to its snapshot', () => {
  const { line: terms, bot } = lineQuery(
    parseQuery('level:warn -kind:irc label:team=a x', 'lines'),
  );
  expect(terms).toHaveLength(2);
  expect(bot).toHaveLength(2);
  expect(botCondition(bot)?.isOpen).toBe(false);
  expect(botCondition(bot.slice(0, 1))?.isOpen).toBe(true);
  expect(botCondition([])).toBeUndefined();
});
