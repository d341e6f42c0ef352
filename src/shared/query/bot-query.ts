// Decides which bots a query is about: the terms that a snapshot can answer.

import type { BotSnapshot } from '../contract/events.js';
import { Regex } from './regex.js';
import type { Comparison, FieldTerm, Query, Term } from './term.js';
import { ageOf, isAny, isValue, labelOf, numberOf } from './values.js';

/** What a query can ask about. */
export type QueriedBot = Pick<
  BotSnapshot,
  | 'id'
  | 'kind'
  | 'status'
  | 'desired'
  | 'since_ms'
  | 'restarts'
  | 'host'
  | 'last_error'
  | 'labels'
  | 'data'
  | 'node'
  | 'version'
  | 'fleet'
  | 'drift'
>;

/** @param now Unix epoch ms, for terms about a time. */
export type BotTest = (bot: QueriedBot, now: number) => boolean;

/** Whether a bot has all terms, none of which is about lines. */
export function botTest(query: Query): BotTest {
  // Cheap ones first: most bots fail at one of them. Those about the same data follow each other (textOf).
  const tests = [...query]
    .sort((a, b) => costOf(a) - costOf(b) || pathOf(a).localeCompare(pathOf(b)))
    .map(testOf);
  return (bot, now) => tests.every((test) => test(bot, now));
}

/** Whether it compares with the time: then bots begin or cease to match without a change. */
export function isAboutTime(query: Query): boolean {
  return query.some((term) => term.type === 'field' && term.field === 'since');
}

function costOf(term: Term): number {
  if (term.type === 'regex') return 3;
  if (term.type === 'text') return 2;
  return term.field === 'data' || term.field === 'last_error' ? 1 : 0;
}

function pathOf(term: Term): string {
  return term.type === 'field' ? term.path : '';
}

function testOf(term: Term): BotTest {
  const test = plainTest(term);
  return term.isNot ? (bot, now) => !test(bot, now) : test;
}

function plainTest(term: Term): BotTest {
  if (term.type === 'field') return fieldTest(term);
  if (term.type === 'regex') {
    const regex = new Regex(term.source, term.ignoreCase);
    return (bot) => texts(bot).some((text) => regex.test(text));
  }
  const wanted = term.text.toLowerCase();
  return (bot) => texts(bot).some((text) => text.toLowerCase().includes(wanted));
}

/** Where a text is looked for. */
function texts({ id, kind, status, node, last_error, labels }: QueriedBot): string[] {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return [id, kind, status, node ?? '', last_error ?? '', ...pairs];
}

function fieldTest(term: FieldTerm): BotTest {
  const { field, path, op, values } = term;
  switch (field) {
    case 'bot':
      return ({ id }) => isOneOf(term, id);
    case 'kind':
    case 'status':
    case 'desired':
      return (bot) => isOneOf(term, bot[field]);
    case 'node':
      return ({ node }) => node !== undefined && isOneOf(term, node);
    case 'version':
      return ({ version }) => typeof version === 'string' && isOneOf(term, version);
    case 'fleet':
      return ({ fleet }) => fleet !== undefined && isOneOf(term, fleet);
    case 'drift':
      return ({ drift = false }) => isOneOf(term, String(drift));
    case 'host':
    case 'restarts':
      return (bot) => isNumber(term, bot[field]);
    case 'last_error': {
      // A part of it is enough: nobody types a whole error.
      const wanted = values.map((value) => ['', ...value.map((part) => part.toLowerCase()), '']);
      return ({ last_error }) => {
        if (last_error === null) return false;
        const error = last_error.toLowerCase();
        return wanted.some((value) => isValue(value, error));
      };
    }
    case 'since': {
      const wanted = ageOf(values[0]?.[0] ?? '');
      return ({ since_ms }, now) => compare(op, now - since_ms, wanted);
    }
    case 'label': {
      const labels = values.map(labelOf);
      return ({ labels: own }) =>
        labels.some(
          (label) =>
            label && Object.hasOwn(own, label.name) && isValue(label.value, own[label.name] ?? ''),
        );
    }
    case 'data':
      return ({ data }) => isDatum(term, lookUp(data, path));
    default:
      // Fields of lines: the parser admits none here.
      return () => false;
  }
}

export function isOneOf({ values }: FieldTerm, text: string): boolean {
  return values.some((value) => isValue(value, text));
}

function isNumber({ op, values }: FieldTerm, number: number | null): boolean {
  if (number === null) return false;
  return values.some((value) => isAny(value) || compare(op, number, numberOf(value[0] ?? '')));
}

function isDatum(term: FieldTerm, datum: unknown): boolean {
  if (datum === undefined) return false;
  if (term.op !== ':') return typeof datum === 'number' && isNumber(term, datum);
  const text = typeof datum === 'object' && datum !== null ? textOf(datum) : String(datum);
  return isOneOf(term, text) || (typeof datum === 'number' && isNumber(term, datum));
}

/** The list or object that was last asked about, and its JSON: a query may have fifty terms about one. */
let last: { datum: object; text: string } | undefined;

function textOf(datum: object): string {
  if (last?.datum !== datum) last = { datum, text: JSON.stringify(datum) };
  return last.text;
}

function compare(op: Comparison, number: number, wanted: number): boolean {
  switch (op) {
    case '<':
      return number < wanted;
    case '<=':
      return number <= wanted;
    case '>':
      return number > wanted;
    case '>=':
      return number >= wanted;
    case ':':
      return number === wanted;
  }
}

/** The value at a path whose parts are joined by dots. A name may have dots too, so the longest name that is there counts. */
export function lookUp(from: unknown, path: string): unknown {
  if (typeof from !== 'object' || from === null) return undefined;
  if (Object.hasOwn(from, path)) return (from as Record<string, unknown>)[path];
  for (let at = path.lastIndexOf('.'); at > 0; at = path.lastIndexOf('.', at - 1)) {
    const name = path.slice(0, at);
    if (Object.hasOwn(from, name)) {
      return lookUp((from as Record<string, unknown>)[name], path.slice(at + 1));
    }
  }
  return undefined;
}
