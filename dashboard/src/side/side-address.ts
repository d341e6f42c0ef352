// The logs of the page that shows several side by side, in its address: `a` to `f`, each a query.

import { printTerm } from '../../../src/shared/query/print-query.js';
import { changeQuery, hrefTo, route } from '../model/route.js';
import { checkedQuery } from '../query/checked-query.js';

export const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'] as const;
export const MAX_LOGS = NAMES.length;

/** The queries, without gaps between them. */
export function queriesIn(query: URLSearchParams): string[] {
  return NAMES.flatMap((name) => {
    const text = query.get(name);
    return text === null || text.trim() === '' ? [] : [text.trim()];
  });
}

function parametersOf(queries: readonly string[]): Record<string, string> {
  return Object.fromEntries(NAMES.map((name, at) => [name, queries[at] ?? '']));
}

export function showQueries(queries: readonly string[]): void {
  changeQuery(parametersOf(queries.slice(0, MAX_LOGS)));
}

export function shownQueries(): string[] {
  return queriesIn(route.value.query);
}

/** `bot:demo-1`. */
export function queryOfBot(id: string): string {
  return printTerm({
    type: 'field',
    isNot: false,
    field: 'bot',
    path: '',
    op: ':',
    values: [[id]],
  });
}

/** The address of the logs of these bots. */
export function hrefOfBots(ids: readonly string[]): string {
  return hrefTo('side', '', parametersOf(ids.slice(0, MAX_LOGS).map(queryOfBot)));
}

/** The bot whose lines a query selects, if it names exactly one. */
export function botOf(query: string): string | undefined {
  for (const { term } of checkedQuery(query, 'lines').terms) {
    if (term.type !== 'field' || term.field !== 'bot' || term.isNot || term.op !== ':') continue;
    const [value, ...more] = term.values;
    if (more.length === 0 && value?.length === 1) return value[0];
  }
  return undefined;
}

/** The address of the configurations of two bots. */
export function hrefOfConfigs(one: string, other: string): string {
  return hrefTo('diff', '', { a: one, b: other });
}
