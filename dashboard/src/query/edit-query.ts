// Changes queries as a click does: a value is added, excluded, or removed when it is there already.

import type { FieldName, QueryUse } from '../../../src/shared/query/fields.js';
import { printQuery, printTerm } from '../../../src/shared/query/print-query.js';
import type { FieldTerm, Query, TextSpan, Value } from '../../../src/shared/query/term.js';
import { checkedQuery } from './checked-query.js';

/** What a click is on. A label is `name=value`. */
export interface Picked {
  field: FieldName;
  value: string;
  isNot: boolean;
}

/**
 * Adds the value to a term about the same field, else as a term; of labels, about the same label. Removes it when it is there,
 * and from a term that says the opposite.
 */
export function picked(text: string, use: QueryUse, { field, value, isNot }: Picked): string {
  const { terms, error } = checkedQuery(text, use);
  const wanted: Value = [value];
  const term: FieldTerm = { type: 'field', isNot, field, path: '', op: ':', values: [wanted] };
  if (error !== undefined) return `${text} ${printTerm(term)}`;
  const query = terms.map((one) => one.term);
  const without = withoutValue(query, term, isNot);
  if (without) return printQuery(without);
  const rest = withoutValue(query, term, !isNot) ?? query;
  const at = rest.findIndex(
    (one) => one.type === 'field' && one.isNot === isNot && isAbout(one, term),
  );
  const before = rest[at];
  if (before?.type !== 'field') return printQuery([...rest, term]);
  return printQuery(rest.with(at, { ...before, values: [...before.values, wanted] }));
}

/** Whether the query has this value. */
export function hasValue(text: string, use: QueryUse, { field, value, isNot }: Picked): boolean {
  return checkedQuery(text, use).terms.some(
    ({ term }) =>
      term.type === 'field' &&
      term.field === field &&
      term.isNot === isNot &&
      term.op === ':' &&
      term.values.some((one) => one.length === 1 && one[0] === value),
  );
}

/** The query without the value in terms of this sign; undefined when none has it. */
function withoutValue(query: Query, wanted: FieldTerm, isNot: boolean): Query | undefined {
  const [value = ''] = wanted.values[0] ?? [];
  let isChanged = false;
  const changed = query.flatMap((term) => {
    if (term.type !== 'field' || term.isNot !== isNot || !isAbout(term, wanted)) return [term];
    const values = term.values.filter((one) => one.length > 1 || one[0] !== value);
    if (values.length === term.values.length) return [term];
    isChanged = true;
    return values.length > 0 ? [{ ...term, values }] : [];
  });
  return isChanged ? changed : undefined;
}

/** Whether the terms are alternatives of each other. Bots have several labels, so only those of one name are. */
function isAbout(term: FieldTerm, other: FieldTerm): boolean {
  if (term.op !== ':' || term.field !== other.field) return false;
  if (term.field !== 'label') return true;
  const names = [...term.values, ...other.values].map(([first = '']) => first.split('=')[0]);
  return names.every((name) => name === names[0]);
}

/** The text without the term at this position. */
export function removed(text: string, { from, to }: TextSpan): string {
  return `${text.slice(0, from).trimEnd()} ${text.slice(to).trimStart()}`.trim();
}

/** The text with the term at this position inverted: excluded, or included again. */
export function inverted(text: string, { from }: TextSpan): string {
  const isNot = text[from] === '-';
  return isNot
    ? text.slice(0, from) + text.slice(from + 1)
    : `${text.slice(0, from)}-${text.slice(from)}`;
}
