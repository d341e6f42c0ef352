// The query in the address of a view: `q`. Addresses of earlier versions have a parameter for each field.

import type { FieldName, QueryUse } from '../../../src/shared/query/fields.js';
import { printQuery } from '../../../src/shared/query/print-query.js';
import type { Term } from '../../../src/shared/query/term.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { type Picked, picked } from './edit-query.js';

const EARLIER: Readonly<Record<string, FieldName>> = {
  status: 'status',
  kind: 'kind',
  node: 'node',
  level: 'level',
  scope: 'scope',
  bot: 'bot',
};
const DIRECTIONS: Readonly<Record<string, readonly string[]>> = {
  in: ['incoming'],
  out: ['outgoing'],
  wire: ['', ''],
};

export function queryIn(parameters: URLSearchParams): string {
  const earlier = Object.entries(EARLIER).flatMap(([name, field]): Term[] => {
    const given = parameters.get(name) ?? '';
    const values = given.split(',').filter((value) => value !== '');
    return values.length === 0
      ? []
      : [
          termOf(
            field,
            values.map((value) => [value]),
          ),
        ];
  });
  const direction = DIRECTIONS[parameters.get('dir') ?? ''];
  if (direction) earlier.push(termOf('direction', [direction]));
  return [printQuery(earlier), parameters.get('q') ?? ''].filter((part) => part !== '').join(' ');
}

function termOf(field: FieldName, values: readonly (readonly string[])[]): Term {
  return { type: 'field', isNot: false, field, path: '', op: ':', values };
}

/** Parameters of the address for this query. */
export function queryParameters(q: string): Record<string, string> {
  const none = [...Object.keys(EARLIER), 'dir'].map((name) => [name, '']);
  return { ...Object.fromEntries(none), q };
}

/** Adds to the query of the present view what was clicked. */
export function pick(use: QueryUse, what: Picked): void {
  const { query } = route.peek();
  // A line that the address links to may not pass any more.
  changeQuery({ ...queryParameters(picked(queryIn(query), use, what)), at: '' });
}

/** The address of the bots with this value. */
export function botsWith(field: FieldName, value: string): string {
  return hrefTo('bots', '', { q: picked('', 'bots', { field, value, isNot: false }) });
}
