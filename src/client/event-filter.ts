import type { Kind, Level } from '../shared/contract/event-kinds.js';

/** A bot is selected if it has one value of each given list, and all labels. An empty list selects nothing. */
export interface BotFilter {
  status?: readonly string[] | undefined;
  kind?: readonly string[] | undefined;
  /** `name=value`, or `name` for any value. */
  label?: readonly string[] | undefined;
  /** Names of nodes of a cluster; `self` for what the node that answers has itself. */
  node?: readonly string[] | undefined;
  /** A query: docs/QUERY.md. */
  query?: string | undefined;
}

/** The same for events (docs/API.md, Filters): those about such bots, from such nodes. */
export interface EventFilter extends BotFilter {
  event?: readonly Exclude<Kind, 'gap'>[] | undefined;
  level?: readonly Level[] | undefined;
  /** Bot ids. */
  session?: readonly string[] | undefined;
  scope?: readonly string[] | undefined;
  /** Text that the message contains, case-insensitive. */
  q?: string | undefined;
}

/** The query parameters of a filter. */
export function filterQuery({
  event,
  level,
  session,
  scope,
  node,
  kind,
  status,
  label,
  q,
  query,
}: EventFilter) {
  return { event, level, session, scope, node, kind, status, label, q, query };
}
