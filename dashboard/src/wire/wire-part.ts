// Which part of a bot's log is shown: as a term of its query, so that it is in the address and the service filters.

import { printQuery } from '../../../src/shared/query/print-query.js';
import type { Term } from '../../../src/shared/query/term.js';
import { checkedQuery } from '../query/checked-query.js';

export const LOG_PARTS = ['all', 'log', 'wire'] as const;
export type LogPart = (typeof LOG_PARTS)[number];

const TRANSPORTS = ['tcp', 'http'];

/** The part that a query selects; undefined for one that selects messages otherwise, such as those of one transport. */
export function partIn(query: string): LogPart | undefined {
  const terms = checkedQuery(query, 'lines').terms.map(({ term }) => term);
  const [about, ...more] = terms.filter(isAboutWire);
  if (!about) return 'all';
  if (more.length > 0 || about.type !== 'field') return undefined;
  const values = new Set(about.values.map(([value]) => value));
  if (values.size !== TRANSPORTS.length || !TRANSPORTS.every((one) => values.has(one))) {
    return undefined;
  }
  return about.isNot ? 'log' : 'wire';
}

/** The query with this part. One that cannot be read stays as it is. */
export function withPart(query: string, part: LogPart): string {
  const { terms, error } = checkedQuery(query, 'lines');
  if (error !== undefined) return query;
  const rest = terms.map(({ term }) => term).filter((term) => !isAboutWire(term));
  if (part === 'all') return printQuery(rest);
  const values = TRANSPORTS.map((one): [string] => [one]);
  const isNot = part === 'log';
  return printQuery([
    ...rest,
    { type: 'field', isNot, field: 'transport', path: '', op: ':', values },
  ]);
}

function isAboutWire(term: Term): boolean {
  return term.type === 'field' && term.field === 'transport';
}
