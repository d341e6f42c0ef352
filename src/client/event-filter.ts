import type { Kind, Level } from '../shared/contract/event-kinds.js';

/** An event passes if it matches one value of each given list (docs/API.md, Filters). An empty list matches nothing. */
export interface EventFilter {
  kind?: readonly Exclude<Kind, 'gap'>[] | undefined;
  level?: readonly Level[] | undefined;
  /** Bot ids. */
  session?: readonly string[] | undefined;
  scope?: readonly string[] | undefined;
  /** Names of nodes of a cluster; `self` for what the node that answers has itself. */
  node?: readonly string[] | undefined;
  /** A query: docs/QUERY.md. */
  query?: string | undefined;
}

/** The query parameters of a filter. */
export function filterQuery({ kind, level, session, scope, node, query }: EventFilter) {
  return { kind, level, session, scope, node, query };
}
