// What parameters select, as a query: those of routes, of the client, and the flags of the command line. Nothing else reads them.

import { SELF } from '../contract/node-name.js';
import { DroverError } from '../errors.js';
import { FIELDS, type FieldName, fieldNamed, type QueryUse } from './fields.js';
import { readQuery } from './read-query.js';
import type { Query, Term, Value } from './term.js';

type Given = string | number | readonly string[] | undefined;

/** Most values of one parameter. */
const MAX_VALUES = 1000;

/**
 * A parameter with the name of a field is a term about it, whose values are taken as they are: a list, or comma-separated, or repeated.
 * Of labels, all are required. `q` is a text. Other parameters than these and `query` are not looked at.
 * @throws DroverError `bad_request`
 */
export function selectionOf(
  parameters: Iterable<readonly [name: string, value: Given]>,
  use: QueryUse,
): Query {
  const terms: Term[] = [];
  const wanted = new Map<FieldName, Set<string>>();
  for (const [name, given] of parameters) {
    if (given === undefined || typeof given === 'number') continue;
    if (name === 'query') terms.push(...readQuery(String(given), use));
    if (name === 'q' && given !== '')
      terms.push({ type: 'text', isNot: false, text: String(given) });
    const field = fieldNamed(name);
    if (!field || !hasShortForm(field)) continue;
    const values = typeof given === 'string' ? given.split(',') : given;
    // This value chooses the stream (src/front/views/views.ts).
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

function hasShortForm(field: FieldName): boolean {
  return FIELDS[field].type === 'name' || field === 'label';
}

function termOf(field: FieldName, values: readonly Value[]): Term {
  return { type: 'field', isNot: false, field, path: '', op: ':', values };
}
