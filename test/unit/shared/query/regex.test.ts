import { expect, it } from 'vitest';
import { QueryError } from '../../../../src/shared/query/query-error.js';
import { Regex } from '../../../../src/shared/query/regex.js';
import { MAX_PARTS, MAX_POSITIONS, parseRegex } from '../../../../src/shared/query/regex-tree.js';
import { randomFrom } from '../../../harness/random.js';

const finds = (source: string, text: string, ignoreCase = false): boolean =>
  new Regex(source, ignoreCase).test(text);

/** A random expression of the supported syntax, over few characters, so that texts match often. */
function randomRegex(random: () => number, depth = 0): string {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const atom = (): string =>
    random() < 0.7 || depth > 1
      ? pick(['a', 'b', 'c', '.', '\\d', '\\w', '\\S', '[ab]', '[^a]', '[A-C1]', ' '])
      : `(${randomRegex(random, depth + 1)})`;
  const part = (): string =>
    atom() + pick(['', '', '', '*', '+', '?', '{2}', '{1,2}', '{0,}', '+?']);
  const sequence = (): string => {
    const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, part).join('');
    // An edge is a character before or behind the text here, so it has its place at the ends of an alternative only.
    const [begin, end] = depth === 0 ? [pick(['^', '', '']), pick(['$', '', ''])] : ['', ''];
    return begin + parts + end;
  };
  return random() < 0.25 ? `${sequence()}|${sequence()}` : sequence();
}

it('finds what RegExp finds', () => {
  const random = randomFrom(7);
  for (let round = 0; round < 1500; round++) {
    const source = randomRegex(random);
    const text = Array.from(
      { length: Math.floor(random() * 8) },
      () => 'abcA1 \n'[Math.floor(random() * 7)],
    ).join('');
    const ignoreCase = random() < 0.3;
    const expected = new RegExp(source, ignoreCase ? 'i' : '').test(text);
    const found = finds(source, text, ignoreCase);
    expect(found, `/${source}/ in ${JSON.stringify(text)}`).toBe(expected);
  }
});

it('may match the JSON of what it matches, and of plain text of nothing else', () => {
  const random = randomFrom(8);
  for (let round = 0; round < 1500; round++) {
    const regex = new Regex(randomRegex(random), random() < 0.3);
    const length = Math.floor(random() * 8);
    const text = Array.from({ length }, () => 'abcA1 \né"'[Math.floor(random() * 9)]).join('');
    const json = Buffer.from(`[${JSON.stringify(text)}]`);
    const may = regex.mayMatch(json, 2, json.length - 2);
    const isPlain = /^[abcA1 ]*$/.test(text);
    expect(may, JSON.stringify(text)).toBe(isPlain ? regex.test(text) : may || regex.test(text));
  }
});

it.each([
  ['^a', 'ba', false],
  ['a$', 'ab', false],
  ['^$', '', true],
  ['^$', 'a', false],
  ['^^a', 'a', true],
  ['(^|,)a', 'b,a', true],
  ['é+', 'xéé', true],
  ['^.$', '😀', true],
  ['[😀-😂]', '😁', true],
  ['\\u{1f600}', '😀', true],
  ['\\x41', 'A', true],
  ['[^\\d\\s]', '1 2', false],
  ['a\\/b', 'a/b', true],
  ['[\\]-]', '-', true],
  ['{', '{', true],
])('/%s/ in %j: %s', (source, text, is) => {
  expect(finds(source, text)).toBe(is);
});

it('ignores case with i, also of other letters', () => {
  expect(finds('straße|ÄPFEL', 'äpfel', true)).toBe(true);
  expect(finds('[a-c]', 'B', true)).toBe(true);
  expect(finds('[^a]', 'A', true)).toBe(false);
  expect(finds('A', 'a')).toBe(false);
});

it.each([
  ['a(', 2, 'has no )'],
  ['a)', 2, 'closes nothing'],
  ['[a', 1, 'has no ]'],
  ['*a', 1, 'nothing to repeat'],
  ['a**', 3, 'nothing to repeat'],
  ['(?=a)', 2, 'no lookaround'],
  ['(a)\\1', 4, '\\1 is not supported'],
  ['\\bfoo', 1, 'for a whole word'],
  ['a{3,2}', 2, 'wrong order'],
  ['a{500}', 2, 'at most 128'],
  ['[z-a]', 3, 'from a lower to a higher'],
  ['^*', 2, 'an edge cannot be repeated'],
  ['\\', 2, 'needs a character behind it'],
  [`${'('.repeat(40)}a`, 32, 'levels deep'],
  ['(a{100}){2}', 9, `more than ${MAX_POSITIONS}`],
  ['((a{50}){50}){50}', 9, `more than ${MAX_POSITIONS}`],
  [`${'a'.repeat(128)}|b`, 129, `more than ${MAX_POSITIONS}`],
  ['(((((){128}){128}){128}){128})', 13, `more than ${MAX_PARTS} parts`],
  ['((a{0}){128}|b{0}){128}', 19, `more than ${MAX_PARTS} parts`],
  ['(((|){64}){64}){64}', 11, `more than ${MAX_PARTS} parts`],
])('refuses /%s/ with its place', (source, place, words) => {
  let thrown: unknown;
  try {
    parseRegex(source, false, 0);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(QueryError);
  expect((thrown as Error).message).toContain(words);
  expect((thrown as Error).message).toMatch(/^[^\n]+$/);
  expect((thrown as QueryError).at + 1).toBe(place);
});

it('what is empty may be repeated, within the bound', () => {
  expect(finds('a(){128}b', 'ab')).toBe(true);
  expect(finds('a((){60}|c?){60}b', 'accb')).toBe(true);
  expect(finds('^((x{0}){50}){50}$', 'a')).toBe(false);
});

it('finds what RegExp finds when its states are not remembered', () => {
  const random = randomFrom(9);
  for (const source of ['(a|b)*a(a|b){61}c', '^[ab]*a[ab]{120}$', 'a.{90}a$']) {
    const regex = new Regex(source, false);
    const expected = new RegExp(source, 'u');
    // A new state for nearly each character: they are used up after some of these.
    const texts = Array.from({ length: 12 }, () =>
      Array.from({ length: 400 }, () => (random() < 0.02 ? '😀' : random() < 0.5 ? 'a' : 'b')).join(
        '',
      ),
    );
    for (const text of texts) {
      for (const end of ['', 'c', `${'ab'.repeat(31)}c`]) {
        const whole = text + end;
        expect(regex.test(whole), `/${source}/ in ${whole}`).toBe(expected.test(whole));
      }
    }
  }
});

/** Expressions that take exponential time with backtracking, or the most states. */
it.each(['(a*)*c', '(a|a)*$b', '(a|b)*a(a|b){61}c', '(x+x+)+y', '([ab]{0,30}){4}c'])(
  '/%s/ reads each character once: its states are bounded',
  (source) => {
    const regex = new Regex(source, false);
    const text = Array.from({ length: 8192 }, (_, at) => 'ab'[(at * at * 7 + (at >> 3)) % 2]).join(
      '',
    );
    // With RegExp this does not end.
    expect(regex.test(text)).toBe(false);
    expect(regex.test(`${text}xxy${'ab'.repeat(50)}c`)).toBe(!source.includes('$'));
  },
);
