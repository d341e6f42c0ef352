// Counts of events by scope, as `GET /api/stats` shows them. In the journal thread, and in the bus thread of a cluster.

/** Scopes that a point of an answer names, by number of events. */
const SHOWN_SCOPES = 20;
/** Name of the sum of all others. */
export const OTHER_SCOPES = '…';

/** The scopes with the most events; the others share one sum. */
export function largestScopes(counts: Readonly<Record<string, number>>): Record<string, number> {
  const { [OTHER_SCOPES]: others = 0, ...named } = counts;
  const sorted = Object.entries(named).sort(([, one], [, other]) => other - one);
  const rest = sorted.slice(SHOWN_SCOPES).reduce((sum, [, count]) => sum + count, others);
  const shown = Object.fromEntries(sorted.slice(0, SHOWN_SCOPES));
  return rest > 0 ? { ...shown, [OTHER_SCOPES]: rest } : shown;
}
