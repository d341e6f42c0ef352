import type { QueryUse } from '../../../src/shared/query/fields.js';
import { type LocatedTerm, parseTerms } from '../../../src/shared/query/parse-query.js';
import { QueryError } from '../../../src/shared/query/query-error.js';

export interface CheckedQuery {
  terms: readonly LocatedTerm[];
  /** The fault of an invalid query, which has no terms. */
  error: string | undefined;
}

let last: { text: string; use: QueryUse; checked: CheckedQuery } | undefined;

/** Reads a query that a person is typing. Views read the same one several times. */
export function checkedQuery(text: string, use: QueryUse): CheckedQuery {
  if (last?.text !== text || last.use !== use) last = { text, use, checked: check(text, use) };
  return last.checked;
}

function check(text: string, use: QueryUse): CheckedQuery {
  try {
    return { terms: parseTerms(text, use), error: undefined };
  } catch (thrown) {
    if (!(thrown instanceof QueryError)) throw thrown;
    return { terms: [], error: thrown.message };
  }
}
