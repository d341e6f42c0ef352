// Any query over blocks of any lines: a search that skips finds what one line after the other would.

import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Journal } from '../../../src/journal/journal.js';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { lineTest } from '../../../src/shared/query/line-query.js';
import { parseQuery } from '../../../src/shared/query/parse-query.js';
import { parseFilter } from '../../../src/shared/stream/filter.js';
import { keyOfQuery, Life, logItem, messagesOf } from '../../harness/journal.js';
import { makeDir, removeDir } from '../../harness/service.js';

const names = new NameHasher('key');
const BLOCKS = 8;
const LINES_OF_BLOCK = 250;
/** Most lines are of these. */
const PLAIN = ['gate', 'Harbour', 'king', '12', 'took 7 ms', 'a.b(c)', '|', '$'];
/** Of each the lines of one block have some: upper and lower cases that differ in length, escapes, quotes. */
const ODD = [
  '\u212aing',
  'g\u0130ate',
  'ΣΑΣ',
  'ärger',
  'k\u001b[31mi\u001b[0mng',
  '\u009b1mgate',
  '"q" \\',
];
const WORDS = [...PLAIN, ...ODD];
const BOTS = [null, 'bot-1', 'bot-2', 'other-1', 'Ümlaut', 'a "b"'];
const SCOPES = ['bot', 'tcp', 'rare'];
const LEVELS = ['info', 'warn', 'error'] as const;

const lineOf = (odd: string | undefined) =>
  fc.record({
    message: fc
      .array(fc.constantFrom(...PLAIN, ...(odd === undefined ? [] : [odd])), { maxLength: 4 })
      .map((words) => `${words.join(' ')}${' '.repeat(200)}`),
    level: fc.constantFrom(...LEVELS),
    scope: fc.constantFrom(...SCOPES.slice(0, odd === undefined ? 1 : 3)),
    session_id: fc.constantFrom(...BOTS.slice(0, odd === undefined ? 3 : 6)),
    direction: fc.constantFrom(
      null,
      ...(odd === undefined ? [] : (['incoming', 'outgoing'] as const)),
    ),
  });
/** The same in each run. */
const LINES = Array.from({ length: BLOCKS }, (_, block) =>
  fc.sample(lineOf(ODD[block]), { numRuns: LINES_OF_BLOCK, seed: block }),
).flat();

const word = fc
  .constantFrom(...WORDS, 'unicorn', 'ing', 'K', 'ı', 'σας', '31', 'g')
  .map((text) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`);
const expression = fc.constantFrom(
  '/king|harbour/i',
  '/(gate|unicorn) /',
  '/took \\d ms/',
  '/^$/',
  '/[A-Z]/',
  '/(k|K)ing/',
  '/.{3}\\|/',
);
const field = fc.constantFrom(
  ...[
    'scope:tcp,rare',
    'scope:r*',
    'scope:none',
    'bot:bot-*',
    'bot:*',
    'bot:"a \\"b\\""',
    'bot:Üm*',
  ],
  ...['direction:incoming', 'direction:incoming,outgoing', 'direction:*', 'direction:out*'],
  ...['transport:tcp', 'level:warn,error', 'event:log'],
);
const term = fc
  .tuple(fc.constantFrom('', '', '-'), fc.oneof(word, expression, field))
  .map((parts) => parts.join(''));
const query = fc.array(term, { minLength: 1, maxLength: 3 }).map((terms) => terms.join(' '));

const dir = makeDir();
let life: Life;
beforeAll(async () => {
  life = await Life.begin(dir, { Journal, ringBytes: 2 ** 24 });
  await life.on();
  life.broadcaster.publish(LINES.map(({ message, ...over }) => logItem(message, over)));
});
afterAll(async () => {
  await life.end();
  removeDir(dir);
});

it('finds what matches, in both orders', async () => {
  await fc.assert(
    fc.asyncProperty(query, fc.constantFrom('newest', 'oldest'), async (asked, order) => {
      const test = lineTest(parseQuery(asked, 'lines'));
      const wanted = LINES.filter(({ message, session_id, ...line }) =>
        test({
          ...line,
          event: 'log',
          bot: session_id,
          node: null,
          transport: null,
          text: withoutEscapes(message),
        }),
      ).map(({ message }) => message);
      const events = await messagesOf(life, { filter: keyOfQuery(asked), order });
      expect(order === 'newest' ? events.reverse() : events).toEqual(wanted);
    }),
    { numRuns: 100 },
  );
}, 60_000);

it('finds the text of q', async () => {
  for (const text of [...WORDS, 'unicorn', 'KING', 'gİ']) {
    const wanted = LINES.map(({ message }) => message).filter((message) =>
      lowerCase(withoutEscapes(message)).includes(lowerCase(text)),
    );
    expect(
      await messagesOf(life, {
        order: 'oldest',
        filter: parseFilter([['q', text]], names)?.key ?? '',
      }),
    ).toEqual(wanted);
  }
}, 60_000);

/** As a search compares: a sigma at the end of a word is a sigma. */
function lowerCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
