import { expect, it } from 'vitest';
import {
  FIELD_NAMES,
  FIELDS,
  type Field,
  isUsable,
  type QueryUse,
} from '../../../../src/shared/query/fields.js';
import { parseQuery, parseTerms } from '../../../../src/shared/query/parse-query.js';
import { printQuery } from '../../../../src/shared/query/print-query.js';
import { QueryError } from '../../../../src/shared/query/query-error.js';
import type { Term, Value } from '../../../../src/shared/query/term.js';
import { randomFrom } from '../../../harness/random.js';

const USES = ['bots', 'lines'] as const;
const ROUNDS = 3000;

const text = (value: string, isNot = false) => ({ type: 'text', isNot, text: value });
const field = (name: string, values: Value[], more = {}) => ({
  type: 'field',
  isNot: false,
  field: name,
  path: '',
  op: ':',
  values,
  ...more,
});

it('reads each kind of term', () => {
  const query =
    'status:failed,backoff label:team=a -kind:demo "two words" /a b/i data.gold<100 -word bot:x-*';
  expect(parseQuery(query, 'bots')).toEqual([
    field('status', [['failed'], ['backoff']]),
    field('label', [['team=a']]),
    field('kind', [['demo']], { isNot: true }),
    text('two words'),
    { type: 'regex', isNot: false, source: 'a b', ignoreCase: true },
    field('data', [['100']], { path: 'gold', op: '<' }),
    text('word', true),
    field('bot', [['x-', '']]),
  ]);
});

it.each([
  ['', []],
  ['  \t ', []],
  ['id:a session:b', [field('bot', [['a']]), field('bot', [['b']])]],
  ['restarts=3', [field('restarts', [['3']])]],
  ['label:team="a b",x', [field('label', [['team=a b'], ['x']])]],
  ['kind:"*"', [field('kind', [['*']])]],
  ['kind:"a\\"\\\\b"', [field('kind', [['a"\\b']])]],
  ['12:30', [text('12:30')]],
  ['Move{x="4"', [text('Move{x="4"')]],
  ['"a:b"', [text('a:b')]],
  ['data.a.b>=-1.5', [field('data', [['-1.5']], { path: 'a.b', op: '>=' })]],
  ['last_error:""', [field('last_error', [['']])]],
])('reads %s', (query, expected) => {
  expect(parseQuery(query, 'bots')).toEqual(expected);
});

it.each<[string, QueryUse, number, string]>([
  ['stauts:failed', 'bots', 1, 'there is no field "stauts"; did you mean status?'],
  ['a http://x', 'bots', 3, 'to find the text, quote it: "http://x"'],
  ['level:warn', 'bots', 1, 'level is about lines, not bots'],
  ['since>5m', 'lines', 1, 'since is for bots, not for lines'],
  ['level:wran', 'lines', 7, 'level is one of: info, warn, error, state'],
  ['event:gap', 'lines', 7, 'event is one of: log, session'],
  ['status:', 'bots', 8, 'status: needs a value, for example status:failed'],
  ['status: failed', 'bots', 8, 'needs a value'],
  ['status:a,', 'bots', 10, 'a value is missing in status:'],
  ['data:3', 'bots', 1, 'data needs a name, for example data.gold<100'],
  ['data.x<red', 'bots', 8, '< compares with a number'],
  ['data.x<1,2', 'bots', 9, 'data.x< takes one value'],
  ['host:a', 'bots', 6, 'host is a number, for example host:0'],
  ['kind>3', 'bots', 6, 'kind cannot be compared with >'],
  ['since:5m', 'bots', 7, 'since compares with a time in s, m, h or d: since>10m'],
  ['since>5', 'bots', 7, 'since compares with a time'],
  ['label:te*', 'bots', 7, 'a label is a name, or a name and a value'],
  ['label:=a', 'bots', 7, 'a label is a name'],
  ['a - b', 'bots', 3, 'a - excludes the term behind it'],
  ['"abc', 'bots', 1, 'the closing " is missing'],
  ['"abc"d', 'bots', 6, 'a space is missing after the closing "'],
  ['""', 'bots', 1, 'an empty text is in everything'],
  ['/api/bots', 'bots', 6, 'quote it: "/api/bots"'],
  ['/abc', 'bots', 1, 'no closing /'],
  ['//', 'bots', 1, 'is empty'],
  ['x /a(/', 'bots', 5, 'this ( has no )'],
  ['a '.repeat(51), 'bots', 101, 'at most 50 terms'],
  ['/a/ '.repeat(5), 'bots', 17, 'at most 4 regular expressions'],
  ['a'.repeat(2001), 'bots', 2001, 'at most 2000 characters'],
  [`kind:${'a,'.repeat(250)}a`, 'bots', 406, 'kind has more than 200 values'],
])('%s for %s: says where and what would be right', (query, use, place, words) => {
  const thrown = faultOf(query, use);
  expect(thrown?.message).toContain(words);
  expect(thrown?.message).toContain(`(at character ${place})`);
});

it('finds the places of terms', () => {
  const places = parseTerms(' a  -kind:"x y" /b/ ', 'bots').map(({ place }) => place);
  expect(places).toEqual([
    { from: 1, to: 2 },
    { from: 4, to: 15 },
    { from: 16, to: 19 },
  ]);
});

it('reads again what it prints', () => {
  const random = randomFrom(11);
  for (let round = 0; round < ROUNDS; round++) {
    const use = pick(random, USES);
    const query = Array.from({ length: Math.floor(random() * 5) }, () => randomTerm(random, use));
    const printed = printQuery(query);
    expect(parseQuery(printed, use), printed).toEqual(query);
  }
});

it('reads any text, or says in one line what is wrong with it', () => {
  const random = randomFrom(13);
  const pieces = [...'ab1 -"/\\*,:=<>.é\t', 'kind:', 'label:', 'data.x', 'level:', ' since>', '5m'];
  let read = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const use = pick(random, USES);
    const query = Array.from({ length: Math.floor(random() * 9) }, () => pick(random, pieces)).join(
      '',
    );
    const fault = faultOf(query, use);
    if (fault) {
      expect(fault.message).toMatch(/^[^\n]+ \(at character \d+\)$/);
      expect(fault.at).toBeLessThanOrEqual(query.length);
      continue;
    }
    read += 1;
    const terms = parseQuery(query, use);
    expect(parseQuery(printQuery(terms), use), query).toEqual(terms);
  }
  expect(read).toBeGreaterThan(ROUNDS / 10);
});

function faultOf(query: string, use: QueryUse): QueryError | undefined {
  try {
    parseQuery(query, use);
    return undefined;
  } catch (thrown) {
    expect(thrown).toBeInstanceOf(QueryError);
    return thrown as QueryError;
  }
}

function pick<T>(random: () => number, of: readonly T[]): T {
  return of[Math.floor(random() * of.length)] as T;
}

function randomText(random: () => number, least = 0): string {
  const length = least + Math.floor(random() * 5);
  return Array.from({ length }, () => pick(random, [...'abx1 -"/\\*,:=<>._é\t'])).join('');
}

function randomTerm(random: () => number, use: QueryUse): Term {
  const isNot = random() < 0.3;
  const kind = random();
  if (kind < 0.3) return { type: 'text', isNot, text: randomText(random, 1) };
  if (kind < 0.4) {
    const source = pick(random, ['a', 'a b', '\\/', '[^"]+', 'x\\\\']);
    return { type: 'regex', isNot, source, ignoreCase: random() < 0.5 };
  }
  const name = pick(
    random,
    FIELD_NAMES.filter((one) => isUsable(one, use)),
  );
  const { type, values }: Field = FIELDS[name];
  const path = type === 'data' ? pick(random, ['gold', 'a.b', 'x-1']) : '';
  const compares = type === 'age' || ((type === 'number' || type === 'data') && random() < 0.5);
  const op = compares ? pick(random, ['<', '<=', '>', '>='] as const) : ':';
  const value = (): Value => {
    if (type === 'age') return [`${Math.floor(random() * 90)}${pick(random, [...'smhd'])}`];
    if (type === 'number' || compares) return [String(Math.round(random() * 2000 - 1000) / 8)];
    if (values) return [pick(random, values)];
    const parts = Array.from({ length: 1 + Math.floor(random() * 3) }, () => randomText(random));
    return type === 'label' ? [`team=${parts[0]}`, ...parts.slice(1)] : parts;
  };
  const length = compares ? 1 : 1 + Math.floor(random() * 3);
  return { type: 'field', isNot, field: name, path, op, values: Array.from({ length }, value) };
}
