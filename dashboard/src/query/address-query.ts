// The query in the address of a view: `q`.

import type { FieldName, QueryUse } from '../../../src/shared/query/fields.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { type Picked, picked } from './edit-query.js';

export function queryIn(parameters: URLSearchParams): string {
  return parameters.get('q') ?? '';
}

/** Adds to the query of the present view what was clicked. */
export function pick(use: QueryUse, what: Picked): void {
  const { query } = route.peek();
  // The line that the address links to may no longer pass.
  changeQuery({ q: picked(queryIn(query), use, what), at: '' });
}

/** The address of the bots with this value. */
export function botsWith(field: FieldName, value: string): string {
  return hrefTo('bots', '', { q: picked('', 'bots', { field, value, isNot: false }) });
}
