// What parameters select, as a query: those of routes, of the client, and the flags of the command line. Nothing else reads them.

import { SELF } from '../contract/node-name.js';
import { MAX_TEXT } from '../contract/query-bounds.js';
import { DroverError } from '../errors.js';
import { FIELDS, type FieldName, fieldNamed, type QueryUse } from './fields.js';
import { readQuery } from './read-query.js';
import type { Query, Term, Value } from './term.js';

/** Most values of one parameter. */
const MAX_VALUES = 1000;

/**
 * A parameter with the name of a field is a term about it, whose values are taken as they are: comma-separated, repeated, or both.
 * Of labels, all are required. `q` is a text. Other parameters than these and `query` are not looked at.
 * @throws DroverError `bad_request`
 */
export function selectionOf(
  parameters: Iterable<readonly [name: string, value: string]>,
  use: QueryUse,
): Query {
  const terms: Term[] = [];
  const wanted = new Map<FieldName, Set<string>>();
  for (const [name, text] of parameters) {
    if (name === 'query') terms.push(...readQuery(text, use));
    if (name === 'q' && text !== '') terms.push(textOf(text));
    const field = fieldNamed(name);
    if (!field || !hasShortForm(field)) continue;
    const values = text.split(',');
    // It says which stream is asked for (src/front/views/views.ts).
    if (field === 'node' && values.includes(SELF)) continue;
    const all = wanted.get(field) ?? new Set();
    wanted.set(field, all);
    for (const value of values) if (value !== '') all.add(value);
    if (all.size > MAX_VALUES) {
      throw new DroverError('bad_request', `${name} has more than ${MAX_VALUES} values`);
    }
  }
  for (const [field, all] of wanted) {
    const values = [...all].map((value): Value => [value]);
    // Without values it selects nothing.
    const lists = field === 'label' && all.size > 0 ? values.map((one) => [one]) : [values];
    for (const list of lists) terms.push(termOf(field, list));
  }
  return terms;
}

function textOf(text: string): Term {
  if (text.length > MAX_TEXT) {
    throw new DroverError('bad_request', `q is longer than ${MAX_TEXT} characters`);
  }
  return { type: 'text', isNot: false, text };
}

function hasShortForm(field: FieldName): boolean {
  return FIELDS[field].type === 'name' || field === 'label';
}

function termOf(field: FieldName, values: readonly Value[]): Term {
  return { type: 'field', isNot: false, field, path: '', op: ':', values };
}
