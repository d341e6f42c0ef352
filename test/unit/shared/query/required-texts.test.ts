import { expect, it } from 'vitest';
import { parseQuery } from '../../../../src/shared/query/parse-query.js';
import { requiredTexts } from '../../../../src/shared/query/required-texts.js';

it.each<[string, (string | string[])[]]>([
  ['', []],
  ['Login refused', ['Login', 'refused']],
  ['"login refused" "login refused"', ['login refused']],
  ['-refused level:error bot:demo-1', []],
  ['a', []],
  // JSON writes quotes and backslashes in another way.
  [String.raw`"say \"hello\" to"`, ['hello']],
  [String.raw`"C:\\temp"`, ['temp']],
  [String.raw`/took \d{4,} ms/`, ['took ', ' ms']],
  ['/login|refused/', [['login', 'refused']]],
  ['/(refused|login|login) (at|b)/', [['login', 'refused']]],
  ['/to (log(in|out)|sign on)/i', ['to ', ['log', 'sign on']]],
  ['/to (log(in|out)|[0-9])/i', ['to ']],
  ['/(login|)refused/', ['refused']],
  ['/(login|\\d+|refused)/', []],
  ['/(login) refused/', ['login refused']],
  ['/logi?n/', ['log']],
  ['/logi+n/', ['logi']],
  ['/(log)*in/', ['in']],
  ['/(ab){2}cd/', ['ab', 'cd']],
  ['/^Login$/i', ['login']],
  ['/[Ll]ogin/', ['login']],
  ['/[lm]ogin/', ['ogin']],
  ['/l.gin/', ['gin']],
  ['-/login/', []],
])('%s requires %j', (query, texts) => {
  expect(requiredTexts(parseQuery(query, 'lines'))).toEqual(
    texts.map((one) => (typeof one === 'string' ? [one] : one)),
  );
});
