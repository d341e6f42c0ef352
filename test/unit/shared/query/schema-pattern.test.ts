import { expect, it } from 'vitest';
import { schemaPattern } from '../../../../src/shared/query/schema-pattern.js';
import { randomFrom } from '../../../harness/random.js';

it.each([
  // Patterns as authors write them.
  '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$',
  '^[^\\r\\n\\u0000]+$',
  '^[#&+!][^\\s\\u0000\\u0007,]*$',
  '^(null|[a-z][a-z0-9+.-]*:\\/\\/[^/\\s,*?#]+)$',
  '^\\d{4}-\\d\\d-\\d\\d$|^now$',
  '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$',
  '^.{1,500}$',
])('%s is matched in one pass', (source) => {
  expect(schemaPattern(source).isLinear).toBe(true);
});

it.each([
  '^(?!self$)[a-z]+$',
  '\\bword\\b',
  '^(.)\\1$',
  '^\\p{Lu}',
  '^.{1,5000}$',
  '^(^a|b)',
  '(a|b$)$',
  '$^',
])('%s is left to RegExp', (source) => {
  const pattern = schemaPattern(source);
  expect(pattern.isLinear).toBe(false);
  for (const text of ['', 'a', 'b', 'aa', 'word', 'self', 'Ä', 'ab'])
    expect(pattern.test(text), text).toBe(new RegExp(source, 'u').test(text));
});

it('refuses what is no expression, in the words of RegExp', () => {
  expect(() => schemaPattern('a(')).toThrow(SyntaxError);
  expect(() => schemaPattern('a{2')).toThrow(SyntaxError);
});

it('agrees with RegExp, with edges anywhere', () => {
  const random = randomFrom(11);
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T;
  const part = (depth: number): string => {
    const inner =
      depth < 3 && random() < 0.3
        ? `(${choice(depth + 1)})`
        : pick(['a', 'b', '.', '[^a]', '\\w', '\\u{1f600}', '(?:^)', '(?:$)', '[]', '[^]']);
    return inner + pick(['', '', '', '*', '+', '?', '{2}', '{0,3}', '{2,}']);
  };
  const choice = (depth: number): string =>
    Array.from({ length: 1 + Math.floor(random() * 2) }, () =>
      Array.from({ length: Math.floor(random() * 4) }, () => part(depth)).join(''),
    ).join('|');
  let linear = 0;
  for (let round = 0; round < 3000; round++) {
    const source = pick(['', '^']) + choice(0) + pick(['', '$']);
    let expected: RegExp;
    try {
      expected = new RegExp(source, 'u');
    } catch {
      continue;
    }
    const pattern = schemaPattern(source);
    if (pattern.isLinear) linear += 1;
    for (let texts = 0; texts < 4; texts++) {
      const text = Array.from({ length: Math.floor(random() * 5) }, () =>
        pick(['a', 'b', 'c', '\n', '😀']),
      ).join('');
      expect(pattern.test(text), `/${source}/ in ${JSON.stringify(text)}`).toBe(
        expected.test(text),
      );
    }
  }
  expect(linear).toBeGreaterThan(1000);
});
