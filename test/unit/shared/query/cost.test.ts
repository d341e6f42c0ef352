// What a query can cost, counted, not timed: hostile expressions and queries from a grammar that loves nests and counts.
//
// This is the short form, always the same. `npm run long -- fuzz` runs many more, from another seed each time.

import { afterEach, expect, it, vi } from 'vitest';
import { botField } from '../../../../src/shared/query/bot-field.js';
import { botTest, type QueriedBot } from '../../../../src/shared/query/bot-query.js';
import { FIELD_NAMES, nearest } from '../../../../src/shared/query/fields.js';
import { lineTest } from '../../../../src/shared/query/line-query.js';
import { parseQuery } from '../../../../src/shared/query/parse-query.js';
import { MAX_PATH_PARTS, MAX_REGEX } from '../../../../src/shared/query/query-bounds.js';
import { QueryError } from '../../../../src/shared/query/query-error.js';
import { Regex } from '../../../../src/shared/query/regex.js';
import { MAX_PARTS, parseRegex, type Tree } from '../../../../src/shared/query/regex-tree.js';
import { requiredTexts } from '../../../../src/shared/query/required-texts.js';
import { randomFrom } from '../../../harness/random.js';

const cases = Number(process.env['FUZZ_CASES'] ?? 600);
const seed = Number(process.env['FUZZ_SEED'] ?? 1);
/** A run that has no bound must end too. */
const GIVE_UP = 5_000_000;

afterEach(() => vi.unstubAllGlobals());

/** Counts the sets of positions that are made: the work to build an expression, and to make its states. */
function countSets(): () => number {
  let made = 0;
  vi.stubGlobal(
    'Int32Array',
    class extends Int32Array {
      // Of a length, a list or another set: slices too.
      constructor(from: number) {
        super(from);
        made += 1;
        if (made > GIVE_UP) throw new Error('too many sets of positions');
      }
    },
  );
  return () => {
    const since = made;
    made = 0;
    return since;
  };
}

class Grammar {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  pick<T>(of: readonly T[]): T {
    return of[this.below(of.length)] as T;
  }

  /** Nests, counts, empty parts, classes and alternatives, up to the longest source. */
  regex(): string {
    const count = (): string => {
      const most = this.pick([0, 1, 2, 8, 60, 128]);
      return this.pick([`{${most}}`, `{0,${most}}`, `{${most},}`, '*', '+', '?', '']);
    };
    const atom = (): string =>
      this.pick([
        '',
        'a',
        'b',
        '.',
        '[ab]',
        '[^a]',
        '\\W',
        'a{0}',
        '^',
        '$',
        '[a-cx-zÀ-ɏ]',
        '|',
        '(|)',
      ]);
    let source = this.pick([atom(), atom().repeat(1 + this.below(60)), '']);
    for (let level = this.below(32); level > 0; level--) {
      const around = this.pick([
        `(${source})`,
        `(${source})${count()}`,
        `(${source}|${source})${count()}`,
        `(?:${atom()}${source}${atom()})${count()}`,
        `${source}${source}`,
      ]);
      if (around.length > MAX_REGEX) break;
      source = around;
    }
    return source;
  }

  query(): string {
    const value = (): string =>
      this.pick(['a', '*', '*a*a', '"a b"', '10', '1e3', '""', 'x=*', '5m', '"\\\\"']).repeat(
        1 + this.below(3),
      );
    const term = (): string =>
      this.pick([
        () => `${this.pick(FIELD_NAMES)}${this.pick([':', '<', '>=', '='])}${value()}`,
        () => `data.${'a.'.repeat(this.below(40))}a:${value()}`,
        () => `label:${Array.from({ length: 1 + this.below(40) }, value).join(',')}`,
        () => `/${this.regex().replaceAll('/', '')}/${this.pick(['', 'i', 'x'])}`,
        () => `"${'\\"'.repeat(this.below(200))}"`,
        () => `${'a'.repeat(this.below(1900))}:1`,
        () => ' '.repeat(this.below(500)),
        () => '-'.repeat(1 + this.below(3)),
        () => `${this.pick(['last_error', 'bot', 'scope'])}:${'*a'.repeat(this.below(300))}`,
      ])();
    return Array.from({ length: 1 + this.below(8) }, term).join(this.pick([' ', '', '  ']));
  }
}

/** The parts of a tree when it is written out, stopped when there are too many. */
function written(tree: Tree): number {
  if (tree.type === 'all' || tree.type === 'any') {
    return tree.of.reduce((sum, one) => sum + written(one), 1);
  }
  if (tree.type !== 'repeat') return 1;
  const copies = tree.most === Number.POSITIVE_INFINITY ? Math.max(1, tree.least) : tree.most;
  return 1 + copies * written(tree.of);
}

const tried = <T>(read: () => T): T | undefined => {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof QueryError) return undefined;
    throw thrown;
  }
};

const letters = randomFrom(3);
const TEXT = Array.from({ length: 2000 }, () => (letters() < 0.5 ? 'a' : 'b')).join('');
/** Sets for each part, and those for the states that may be made at once. */
const SETS_OF_PART = 8;
const SETS_AT_ONCE = 1024 + 64;

it(`${cases} expressions are refused, or cost no more than their parts and their texts`, () => {
  const made = countSets();
  const grammar = new Grammar(randomFrom(seed));
  let accepted = 0;
  for (let round = 0; round < cases; round++) {
    const source = grammar.regex();
    const tree = tried(() => parseRegex(source, false, 0));
    if (!tree) continue;
    accepted += 1;
    expect(written(tree), source).toBe(tree.parts);
    expect(tree.parts, source).toBeLessThanOrEqual(MAX_PARTS);
    made();
    const regex = new Regex(source, round % 2 === 0);
    // One for each class of characters, of which each character of the source has at most four edges.
    expect(made(), source).toBeLessThanOrEqual(SETS_OF_PART * tree.parts + 4 * MAX_REGEX + 16);
    for (let lines = 0; lines < 3; lines++) regex.test(TEXT);
    expect(made(), source).toBeLessThanOrEqual(SETS_AT_ONCE + (3 * TEXT.length) / 16);
    requiredTexts([{ type: 'regex', isNot: false, source, ignoreCase: false }]);
  }
  expect(accepted).toBeGreaterThan(cases / 4);
});

it('an expression with a new state at each character costs less than one for each', () => {
  // Before: a slice of a set that is not counted is not counted.
  const made = countSets();
  const regex = new Regex('[ab]*a[ab]{120}c', false);
  regex.test(TEXT);
  expect(made()).toBeGreaterThan(1000);
  const texts = 50;
  for (let round = 0; round < texts; round++) regex.test(TEXT);
  // 100,000 characters: a set for each of them takes some hundred times as long as to read it.
  expect(made()).toBeLessThan((texts * TEXT.length) / 16);
});

it(`${cases} queries are read in steps in proportion to their length`, () => {
  const grammar = new Grammar(randomFrom(seed + 1));
  const exec = vi.spyOn(RegExp.prototype, 'exec');
  const min = vi.spyOn(Math, 'min');
  const hasOwn = vi.spyOn(Object, 'hasOwn');
  try {
    let accepted = 0;
    for (let round = 0; round < cases; round++) {
      const text = grammar.query();
      for (const use of ['bots', 'lines'] as const) {
        for (const spy of [exec, min, hasOwn]) spy.mockClear();
        const query = tried(() => parseQuery(text, use));
        expect(exec.mock.calls.length, text).toBeLessThan(8 * text.length + 500);
        // Comparing an unknown field with the known ones.
        expect(min.mock.calls.length, text).toBeLessThan(20 * text.length + 5000);
        if (!query) continue;
        accepted += 1;
        if (use === 'lines') lineTest(query);
        else {
          hasOwn.mockClear();
          botTest(query)(BOT, 0);
          expect(hasOwn.mock.calls.length, text).toBeLessThan(text.length + 1000);
        }
      }
    }
    expect(accepted).toBeGreaterThan(cases / 10);
  } finally {
    for (const spy of [exec, min, hasOwn]) spy.mockRestore();
  }
});

let nested: Record<string, unknown> = {};
for (let depth = 0; depth < 64; depth++) nested = { a: nested };
const BOT: QueriedBot = {
  id: 'a'.repeat(64),
  kind: 'demo',
  status: 'in_world',
  desired: 'running',
  since_ms: 0,
  restarts: 0,
  host: 0,
  last_error: 'a'.repeat(1024),
  labels: { a: 'a'.repeat(128) },
  data: nested as QueriedBot['data'],
};

it('a name behind data. has so many parts that all their combinations can be tried', () => {
  const path = (parts: number): string => Array.from({ length: parts }, () => 'a').join('.');
  const refused = `at most 300 characters and ${MAX_PATH_PARTS} parts`;
  expect(() => parseQuery(`data.${path(MAX_PATH_PARTS + 1)}:1`, 'bots')).toThrow(refused);
  expect(() => parseQuery(`data.${'a'.repeat(301)}:1`, 'bots')).toThrow(refused);
  expect(botField(`data.${path(MAX_PATH_PARTS + 1)}`)).toBeUndefined();
  const hasOwn = vi.spyOn(Object, 'hasOwn');
  botField(`data.${path(MAX_PATH_PARTS)}`)?.of(BOT);
  expect(hasOwn.mock.calls.length).toBeLessThan(MAX_PATH_PARTS ** 2);
  hasOwn.mockRestore();
});

it('a long unknown name is compared with no field', () => {
  const min = vi.spyOn(Math, 'min');
  expect(nearest('a'.repeat(1990), FIELD_NAMES)).toBeUndefined();
  expect(min).not.toHaveBeenCalled();
  min.mockRestore();
  expect(nearest('stauts', FIELD_NAMES)).toBe('status');
});
