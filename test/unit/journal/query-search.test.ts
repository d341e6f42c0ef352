// Pages of a query over the blocks of a journal: what is skipped has nothing that matches.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import { lineTest } from '../../../src/shared/query/line-query.js';
import { parseQuery } from '../../../src/shared/query/parse-query.js';
import { journalDir, keyOfQuery, Life, logItem, messagesOf } from '../../harness/journal.js';

/** Lines of several blocks: the words of each are in few of them. */
const LINES = Array.from({ length: 1500 }, (_, n) => ({
  message: [
    `line ${n}`,
    `${n % 100 === 7 ? 'Harbour' : 'gate'} of block ${Math.floor(n / 500)}`,
    n === 700 ? 'GRIFFIN 12 "said" \\o/ ' : '',
    n === 1200 ? 'l\u001b[31mio\u001b[0mn' : '',
    n === 400 ? 'two\nΣ b and aΣ\u{10400}' : '',
    n === 300 ? 'the Kelvin sign is \u212a and ärger' : '',
    'x'.repeat(150),
  ].join(' '),
  over: {
    session_id: n % 50 === 0 ? null : `bot-${n % 30}`,
    scope: n % 400 === 3 ? 'tcp' : 'bot',
    transport: n % 400 === 3 ? ('tcp' as const) : null,
    direction: n % 400 === 3 ? ('incoming' as const) : null,
  },
}));

let life: Life;
beforeEach(async () => {
  life = await Life.begin(journalDir(), { ringBytes: 2 ** 24 });
  await life.on();
  life.broadcaster.publish(LINES.map(({ message, over }) => logItem(message, over)));
});
afterEach(() => life.end());

it.each([
  'griffin',
  '"GRIFFIN 12"',
  String.raw`"12 \"said\" \\o/"`,
  'lion',
  '/l.on/',
  String.raw`/griffin \d+/i`,
  String.raw`/griffin \d+/`,
  '/GRIFFIN (12|13)/',
  'harbour "block 2"',
  '-gate',
  'k ärger',
  'kelvin',
  'KELVIN ÄRGER',
  'unicorn',
  '"σ b"',
  'aΣ\u{10400}',
  'scope:t*',
  '-scope:bot',
  'transport:tcp',
  '-direction:*',
  'direction:incoming harbour',
  'bot:bot-1*',
  '-bot:* line',
  'bot:bot-2? line',
])('%s', async (query) => {
  const test = lineTest(parseQuery(query, 'lines'));
  const wanted = LINES.filter(({ message, over }) =>
    test({
      event: 'log',
      level: 'info',
      scope: over.scope,
      bot: over.session_id,
      node: null,
      transport: over.transport,
      direction: over.direction,
      text: withoutEscapes(message),
    }),
  );
  const messages = await messagesOf(life, { filter: keyOfQuery(query), order: 'oldest' });
  expect(messages).toEqual(wanted.map(({ message }) => message));
});
