import { looksLikeField } from './parse-query.js';
import type { Query, Term, Value } from './term.js';

/** The query as text, which parses to the same query. */
export function printQuery(query: Query): string {
  return query.map(printTerm).join(' ');
}

export function printTerm(term: Term): string {
  const not = term.isNot ? '-' : '';
  if (term.type === 'regex') return `${not}/${term.source}/${term.ignoreCase ? 'i' : ''}`;
  if (term.type === 'text') return not + printText(term.text);
  const { field, path, op, values } = term;
  const name = field === 'data' ? `data.${path}` : field;
  const print = field === 'label' ? printLabel : printValue;
  return `${not}${name}${op}${values.map(print).join(',')}`;
}

function printText(text: string): string {
  const isPlain = /^[^\s"/-]\S*$/.test(text) && !looksLikeField(text);
  return isPlain ? text : quote(text);
}

export function printValue(value: Value): string {
  if (value.length === 1 && value[0] === '') return '""';
  return value.map((part) => (part === '' || isBare(part) ? part : quote(part))).join('*');
}

/** The name needs no quotes, so only what is behind it may get them. */
function printLabel(value: Value): string {
  const [first = '', ...rest] = value;
  const at = first.indexOf('=');
  const name = first.slice(0, at);
  if (at < 0 || !isBare(name)) return printValue(value);
  return `${name}=${printValue([first.slice(at + 1), ...rest])}`;
}

function isBare(part: string): boolean {
  return /^[^\s",*]+$/.test(part);
}

function quote(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}
