// Imported by clients. Owns the parameters that filter events (docs/API.md, Filters).

import type { Kind, Level } from '../shared/contract/events.js';

/** An event passes when it has one of the values of each list that is given. */
export interface EventFilter {
  kind?: readonly Exclude<Kind, 'gap'>[] | undefined;
  level?: readonly Level[] | undefined;
  /** Bot ids. */
  session?: readonly string[] | undefined;
  scope?: readonly string[] | undefined;
}

/** As the query has it; a list that is given and empty matches nothing. */
export function filterQuery({ kind, level, session, scope }: EventFilter) {
  return { kind, level, session, scope };
}
