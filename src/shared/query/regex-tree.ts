// Reads regular expressions: those that can be matched in one pass over the text (docs/QUERY.md).

import { ANY_BUT_BREAKS, type CharSet, CLASSES, complement, folded, union } from './char-set.js';
import { QueryError } from './query-error.js';

/**
 * The size of a part when all its counts are written out. An expression can be written in 30 characters that has
 * billions of parts.
 */
export interface Size {
  /** Characters and edges. */
  positions: number;
  /** Characters, edges, groups, alternatives and repetitions: the work to build its automaton. */
  parts: number;
}

/** `begin` and `end` are the edges of the text. */
export type Tree = Readonly<Size> &
  (
    | { type: 'chars'; set: CharSet }
    | { type: 'begin' | 'end' }
    | { type: 'all' | 'any'; of: readonly Tree[] }
    | { type: 'repeat'; of: Tree; least: number; most: number }
  );

/** Most positions of an expression: the cost of one character of a text is at most proportional to them. */
export const MAX_POSITIONS = 128;
/** Most parts of an expression: what is written by hand has a few hundred. */
export const MAX_PARTS = 4096;
/** Most groups within each other. */
const MAX_DEPTH = 30;
const ONE: Size = { positions: 1, parts: 1 };
/** The size of a sequence or choice without its items. */
const NONE: Size = { positions: 0, parts: 1 };
const QUANTIFIERS: Readonly<Record<string, readonly [least: number, most: number]>> = {
  '*': [0, Number.POSITIVE_INFINITY],
  '+': [1, Number.POSITIVE_INFINITY],
  '?': [0, 1],
};
const CONTROLS: Readonly<Record<string, number>> = { t: 9, n: 10, v: 11, f: 12, r: 13, 0: 0 };
const COUNT = /\{(\d{1,6})(,(\d{1,6})?)?\}/y;
const HEX = /x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}/iy;

/**
 * Takes time proportional to the expression, not to its counts: what is too large written out is refused before it is.
 * @param offset of the expression in the query, for errors. @throws QueryError
 */
export function parseRegex(
  source: string,
  ignoreCase: boolean,
  offset: number,
  maxPositions = MAX_POSITIONS,
): Tree {
  return new RegexReader(source, ignoreCase, offset, maxPositions).read();
}

/** How often a repeated part is written out: the last copy of an open count is repeated itself. */
export function copiesOf(least: number, most: number): number {
  return most === Number.POSITIVE_INFINITY ? Math.max(1, least) : most;
}

class RegexReader {
  readonly #source: string;
  readonly #ignoreCase: boolean;
  readonly #offset: number;
  /** Most positions, and most repetitions of `{n,m}`. */
  readonly #maxPositions: number;
  #at = 0;
  #depth = 0;

  constructor(source: string, ignoreCase: boolean, offset: number, maxPositions: number) {
    this.#maxPositions = maxPositions;
    this.#source = source;
    this.#ignoreCase = ignoreCase;
    this.#offset = offset;
  }

  read(): Tree {
    const tree = this.#choice();
    if (this.#next() === ')')
      throw this.#error('this ) closes nothing; write \\) for the character');
    return tree;
  }

  #choice(): Tree {
    const of = [this.#sequence()];
    let size = this.#sum(of[0] as Tree, NONE, 0);
    while (this.#next() === '|') {
      const from = this.#at;
      this.#at += 1;
      const one = this.#sequence();
      size = this.#sum(size, one, from);
      of.push(one);
    }
    return of.length === 1 ? (of[0] as Tree) : { type: 'any', of, ...size };
  }

  #sequence(): Tree {
    const of: Tree[] = [];
    let size = NONE;
    for (
      let next = this.#next();
      next !== '' && next !== '|' && next !== ')';
      next = this.#next()
    ) {
      const before = of.at(-1);
      const from = this.#at;
      const item = this.#quantified(this.#item());
      // An edge that is given twice is still one.
      const isAgain = (item.type === 'begin' || item.type === 'end') && before?.type === item.type;
      if (isAgain) continue;
      size = this.#sum(size, item, from);
      of.push(item);
    }
    return of.length === 1 ? (of[0] as Tree) : { type: 'all', of, ...size };
  }

  #sum(one: Size, other: Size, at: number): Size {
    return this.#bounded(one.positions + other.positions, one.parts + other.parts, at);
  }

  /** @param at what makes it larger. */
  #bounded(positions: number, parts: number, at: number): Size {
    const most = this.#maxPositions;
    if (positions > most) {
      throw this.#errorAt(at, `it has more than ${most} characters, a{3} counted as three`);
    }
    if (parts > MAX_PARTS) {
      throw this.#errorAt(at, `it has more than ${MAX_PARTS} parts, (){3} counted as three`);
    }
    return { positions, parts };
  }

  #quantified(item: Tree): Tree {
    const from = this.#at;
    const count = this.#quantifier();
    if (!count) return item;
    if (item.type === 'begin' || item.type === 'end') {
      throw this.#error('an edge cannot be repeated; remove what is behind ^ or $', -1);
    }
    // The shortest match is as good as the longest: only whether there is one counts.
    if (this.#next() === '?') this.#at += 1;
    if (this.#next() !== '' && '*+?'.includes(this.#next())) {
      throw this.#error('nothing to repeat; write a \\ before the character itself');
    }
    const [least, most] = count;
    const copies = copiesOf(least, most);
    const size = this.#bounded(copies * item.positions, 1 + copies * item.parts, from);
    return { type: 'repeat', of: item, least, most, ...size };
  }

  #quantifier(): readonly [number, number] | undefined {
    const simple = QUANTIFIERS[this.#next()];
    if (simple) {
      this.#at += 1;
      return simple;
    }
    COUNT.lastIndex = this.#at;
    const match = COUNT.exec(this.#source);
    if (!match) return undefined;
    const least = Number(match[1]);
    const most =
      match[2] === undefined
        ? least
        : match[3] === undefined
          ? Number.POSITIVE_INFINITY
          : Number(match[3]);
    if (most < least) throw this.#error(`${match[0]} has its numbers in the wrong order`);
    const bound = this.#maxPositions;
    if (least > bound || (most > bound && most !== Number.POSITIVE_INFINITY)) {
      throw this.#error(`a count is at most ${bound}`);
    }
    this.#at += match[0].length;
    return [least, most];
  }

  #item(): Tree {
    const next = this.#next();
    if (next === '(') return this.#group();
    if (next === '[') return this.#chars(this.#class());
    if (next === '*' || next === '+' || next === '?') {
      throw this.#error(`nothing to repeat before ${next}; write \\${next} for the character`);
    }
    if (next === '\\') return this.#chars(this.#escape());
    this.#at += next.length;
    if (next === '^') return { type: 'begin', ...ONE };
    if (next === '$') return { type: 'end', ...ONE };
    if (next === '.') return { type: 'chars', set: ANY_BUT_BREAKS, ...ONE };
    return this.#chars(single(next));
  }

  #group(): Tree {
    const from = this.#at;
    this.#at += 1;
    if (this.#next() === '?') {
      if (this.#source[this.#at + 1] !== ':') {
        throw this.#error('only the groups (…) and (?:…) are supported: no lookaround, no names');
      }
      this.#at += 2;
    }
    this.#depth += 1;
    if (this.#depth > MAX_DEPTH) throw this.#error(`groups are more than ${MAX_DEPTH} levels deep`);
    const tree = this.#choice();
    this.#depth -= 1;
    if (this.#next() !== ')')
      throw this.#errorAt(from, 'this ( has no ); write \\( for the character');
    this.#at += 1;
    return tree;
  }

  #class(): CharSet {
    const from = this.#at;
    this.#at += 1;
    const isNot = this.#next() === '^';
    if (isNot) this.#at += 1;
    const sets: CharSet[] = [];
    while (this.#next() !== ']') {
      if (this.#next() === '')
        throw this.#errorAt(from, 'this [ has no ]; write \\[ for the character');
      sets.push(this.#classItem());
    }
    this.#at += 1;
    // Case is ignored before the complement: [^a] is neither a nor A.
    const set = this.#ignoreCase ? folded(union(...sets)) : union(...sets);
    return isNot ? complement(set) : set;
  }

  #classItem(): CharSet {
    const first = this.#classChar();
    const isRange = this.#next() === '-' && ![']', ''].includes(this.#source[this.#at + 1] ?? '');
    if (!isRange) return first;
    const at = this.#at;
    this.#at += 1;
    const last = this.#classChar();
    const [[from, to] = [0, 1]] = first;
    const [[start, end] = [0, 1]] = last;
    if (from !== to || start !== end || from > end) {
      throw this.#errorAt(
        at,
        'a range goes from a lower to a higher character; write \\- for a dash',
      );
    }
    return [[from, end]];
  }

  #classChar(): CharSet {
    if (this.#next() === '\\') return this.#escape(true);
    const next = this.#next();
    this.#at += next.length;
    return single(next);
  }

  #escape(isInClass = false): CharSet {
    this.#at += 1;
    const next = this.#next();
    if (next === '') throw this.#error('a \\ needs a character behind it');
    const set = CLASSES[next];
    if (set) {
      this.#at += 1;
      return set;
    }
    HEX.lastIndex = this.#at;
    const match = HEX.exec(this.#source);
    const code = match
      ? Number.parseInt(match[1] ?? match[2] ?? match[3] ?? '', 16)
      : CONTROLS[next];
    if (code !== undefined && code <= 0x10ffff) {
      this.#at += match ? match[0].length : 1;
      return [[code, code]];
    }
    if ((next === 'b' || next === 'B') && !isInClass) {
      throw this.#error(
        `\\${next} is not supported; for a whole word write (^|\\W)word(\\W|$)`,
        -1,
      );
    }
    if (/[\p{L}\p{N}]/u.test(next)) {
      throw this.#error(
        `\\${next} is not supported; there are \\d \\w \\s \\D \\W \\S and characters`,
        -1,
      );
    }
    this.#at += next.length;
    return single(next);
  }

  #chars(set: CharSet): Tree {
    return { type: 'chars', set: this.#ignoreCase ? folded(set) : set, ...ONE };
  }

  /** The next character; '' at the end. */
  #next(): string {
    const code = this.#source.codePointAt(this.#at);
    return code === undefined ? '' : String.fromCodePoint(code);
  }

  #error(message: string, by = 0): QueryError {
    return this.#errorAt(this.#at + by, message);
  }

  #errorAt(at: number, message: string): QueryError {
    return new QueryError(this.#offset + at, `regular expression: ${message}`);
  }
}

function single(char: string): CharSet {
  const code = char.codePointAt(0) as number;
  return [[code, code]];
}
