import { visible } from '../contract/escapes.js';
import { MAX_QUERY } from '../contract/query-bounds.js';
import {
  FIELD_NAMES,
  FIELDS,
  type Field,
  type FieldName,
  fieldNamed,
  isPath,
  isUsable,
  nearest,
  type QueryUse,
} from './fields.js';
import {
  MAX_PATH,
  MAX_PATH_PARTS,
  MAX_REGEX,
  MAX_REGEXES,
  MAX_TERM_VALUES,
  MAX_TERMS,
} from './query-bounds.js';
import { QueryError } from './query-error.js';
import { parseRegex } from './regex-tree.js';
import type { Comparison, FieldTerm, Query, Term, TextSpan, Value } from './term.js';
import { ageOf, isAny, labelOf, literal, numberOf } from './values.js';

/** A term, and where it is written. */
export interface LocatedTerm {
  term: Term;
  place: TextSpan;
}

/** A field's name with an operator behind it. */
const FIELD = /([\p{L}_][\p{L}\p{N}_.-]*)(:|<=|>=|<|>|=)/uy;
const SPACE = /\s/;
const DATA = 'data.';

/**
 * Reads a query (docs/QUERY.md). @param times how much longer than one of a request it may be, with as many more terms.
 * @throws QueryError
 */
export function parseQuery(text: string, use: QueryUse, times?: number): Query {
  return parseTerms(text, use, times).map(({ term }) => term);
}

/** Reads a query into its terms with their places. */
export function parseTerms(text: string, use: QueryUse, times = 1): LocatedTerm[] {
  if (text.length > times * MAX_QUERY) {
    throw new QueryError(MAX_QUERY, `a query has at most ${MAX_QUERY} characters`);
  }
  const reader = new Reader(text, use);
  const terms: LocatedTerm[] = [];
  let regexes = 0;
  for (let from = reader.skipSpace(); from < text.length; from = reader.skipSpace()) {
    if (terms.length === times * MAX_TERMS) {
      throw new QueryError(from, `a query has at most ${MAX_TERMS} terms`);
    }
    const term = reader.term();
    if (term.type === 'regex') regexes += 1;
    if (regexes > MAX_REGEXES) {
      throw new QueryError(from, `a query has at most ${MAX_REGEXES} regular expressions`);
    }
    terms.push({ term, place: { from, to: reader.at } });
  }
  return terms;
}

/** Whether a word would be read as a term about a field. */
export function looksLikeField(word: string): boolean {
  FIELD.lastIndex = 0;
  return FIELD.test(word);
}

class Reader {
  at = 0;
  readonly #text: string;
  readonly #use: QueryUse;

  constructor(text: string, use: QueryUse) {
    this.#text = text;
    this.#use = use;
  }

  skipSpace(): number {
    while (this.at < this.#text.length && this.#isSpace()) this.at += 1;
    return this.at;
  }

  term(): Term {
    const from = this.at;
    const isNot = this.#text[this.at] === '-';
    if (isNot) this.at += 1;
    if (this.#isEnd()) {
      throw new QueryError(from, 'a - excludes the term behind it, without a space: -kind:demo');
    }
    const first = this.#text[this.at];
    if (first === '"') return this.#quotedText(isNot);
    if (first === '/') return this.#regex(isNot);
    FIELD.lastIndex = this.at;
    const match = FIELD.exec(this.#text);
    if (match) return this.#field(isNot, match[1] as string, match[2] as string);
    return { type: 'text', isNot, text: this.#word() };
  }

  #quotedText(isNot: boolean): Term {
    const from = this.at;
    const text = this.#quoted();
    if (!this.#isEnd()) throw new QueryError(this.at, 'a space is missing after the closing "');
    if (text === '') throw new QueryError(from, 'an empty text is in everything; remove it');
    return { type: 'text', isNot, text };
  }

  #regex(isNot: boolean): Term {
    const from = this.at;
    let end = from + 1;
    while (end < this.#text.length && this.#text[end] !== '/') {
      end += this.#text[end] === '\\' ? 2 : 1;
    }
    if (end >= this.#text.length) {
      throw new QueryError(
        from,
        `the regular expression has no closing /; ${this.#quoteHint(from)}`,
      );
    }
    const source = this.#text.slice(from + 1, end);
    this.at = end + 1;
    const ignoreCase = this.#text[this.at] === 'i';
    if (ignoreCase) this.at += 1;
    if (!this.#isEnd()) {
      throw new QueryError(
        this.at,
        `after a regular expression only i may follow; ${this.#quoteHint(from)}`,
      );
    }
    if (source === '') throw new QueryError(from, 'the regular expression is empty');
    if (source.length > MAX_REGEX) {
      throw new QueryError(from, `a regular expression has at most ${MAX_REGEX} characters`);
    }
    parseRegex(source, ignoreCase, from + 1);
    return { type: 'regex', isNot, source, ignoreCase };
  }

  #field(isNot: boolean, name: string, operator: string): Term {
    const from = this.at;
    const { field, path } = this.#fieldOf(name, from);
    this.at += name.length + operator.length;
    const op = (operator === '=' ? ':' : operator) as Comparison;
    const { example } = FIELDS[field];
    if (this.#isEnd()) {
      throw new QueryError(this.at, `${name}${operator} needs a value, for example ${example}`);
    }
    const values: Value[] = [];
    for (;;) {
      const at = this.at;
      const value = this.#value(name, operator);
      check(field, op, value, at);
      values.push(value);
      if (values.length > MAX_TERM_VALUES) {
        throw new QueryError(at, `${name} has more than ${MAX_TERM_VALUES} values`);
      }
      if (this.#text[this.at] !== ',') break;
      if (op !== ':') throw new QueryError(this.at, `${name}${operator} takes one value`);
      this.at += 1;
    }
    return { type: 'field', isNot, field, path, op, values } satisfies FieldTerm;
  }

  #fieldOf(name: string, at: number): { field: FieldName; path: string } {
    if (name.startsWith(DATA) && name.length > DATA.length) {
      const path = name.slice(DATA.length);
      if (!isPath(path)) {
        throw new QueryError(
          at,
          `a name behind data. has at most ${MAX_PATH} characters and ${MAX_PATH_PARTS} parts`,
        );
      }
      return { field: this.#usable('data', at), path };
    }
    if (name === 'data' || name === DATA) {
      throw new QueryError(at, 'data needs a name, for example data.gold<100');
    }
    const field = fieldNamed(name);
    if (field) return { field: this.#usable(field, at), path: '' };
    const shown = JSON.stringify(visible(name));
    const near = nearest(name, FIELD_NAMES);
    const meant = near === undefined ? `there are: ${this.#names()}` : `did you mean ${near}?`;
    throw new QueryError(at, `there is no field ${shown}; ${meant}; ${this.#quoteHint(at)}`);
  }

  #usable(field: FieldName, at: number): FieldName {
    if (isUsable(field, this.#use)) return field;
    const why = this.#use === 'bots' ? 'is about lines, not bots' : 'is for bots, not for lines';
    throw new QueryError(at, `${field} ${why}; there are: ${this.#names()}`);
  }

  #names(): string {
    return FIELD_NAMES.filter((name) => isUsable(name, this.#use))
      .map((name) => (name === 'data' ? 'data.<name>' : name))
      .join(', ');
  }

  #value(name: string, operator: string): Value {
    const from = this.at;
    const parts = [''];
    const add = (text: string): void => {
      parts[parts.length - 1] += text;
    };
    while (!this.#isEnd() && this.#text[this.at] !== ',') {
      const next = this.#text[this.at] as string;
      if (next === '"') {
        add(this.#quoted());
        continue;
      }
      if (next === '*') parts.push('');
      else add(next);
      this.at += 1;
    }
    if (this.at === from) {
      throw new QueryError(from, `a value is missing in ${name}${operator}; "" is the empty one`);
    }
    return parts;
  }

  /** Reads from one quote to the next; `\"` is a quote and `\\` a backslash. */
  #quoted(): string {
    const from = this.at;
    let text = '';
    for (this.at += 1; this.at < this.#text.length; this.at++) {
      let next = this.#text[this.at] as string;
      if (next === '"') {
        this.at += 1;
        return text;
      }
      const following = this.#text[this.at + 1];
      if (next === '\\' && (following === '"' || following === '\\')) {
        this.at += 1;
        next = following;
      }
      text += next;
    }
    throw new QueryError(from, 'the closing " is missing');
  }

  #word(): string {
    const from = this.at;
    while (!this.#isEnd()) this.at += 1;
    return this.#text.slice(from, this.at);
  }

  #quoteHint(from: number): string {
    let to = from;
    while (to < this.#text.length && !SPACE.test(this.#text[to] as string)) to += 1;
    const word = visible(this.#text.slice(from, Math.min(to, from + 40)));
    return `to find the text, quote it: ${JSON.stringify(word)}`;
  }

  #isEnd(): boolean {
    return this.at >= this.#text.length || this.#isSpace();
  }

  #isSpace(): boolean {
    return SPACE.test(this.#text[this.at] as string);
  }
}

/** @throws QueryError when the field cannot have the value. */
function check(name: FieldName, op: Comparison, value: Value, at: number): void {
  const { type, values, example } = FIELDS[name] as Field;
  const text = literal(value);
  if (type === 'age') {
    const isAge = text !== undefined && !Number.isNaN(ageOf(text));
    if (op === ':' || !isAge) {
      throw new QueryError(at, `${name} compares with a time in s, m, h or d: ${example}`);
    }
    return;
  }
  if (op !== ':') {
    if (type !== 'number' && type !== 'data') {
      throw new QueryError(at, `${name} cannot be compared with ${op}; write ${example}`);
    }
    if (text === undefined || Number.isNaN(numberOf(text))) {
      throw new QueryError(at, `${op} compares with a number, for example ${example}`);
    }
    return;
  }
  if (type === 'number' && !isAny(value) && (text === undefined || Number.isNaN(numberOf(text)))) {
    throw new QueryError(at, `${name} is a number, for example ${example}`);
  }
  if (type === 'label' && !labelOf(value)) {
    throw new QueryError(at, `a label is a name, or a name and a value: ${example}`);
  }
  if (values && text !== undefined && !values.includes(text)) {
    throw new QueryError(at, `${name} is one of: ${values.join(', ')}`);
  }
}
