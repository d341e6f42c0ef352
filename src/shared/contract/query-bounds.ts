// Bounds of query parameters. Not in the table of routes, which the journal and the page do not load.

export const LIMIT = { minimum: 1, maximum: 1000, default: 100 } as const;
export const MAX_TEXT = 1000;
/** Characters of a `query`. */
export const MAX_QUERY = 2000;
/** Points of `GET /api/bots/{id}/history`. */
export const POINTS = { minimum: 1, maximum: 500, default: 200 } as const;
export const MAX_HISTORY_FIELDS = 10;
/** Steps of `GET /api/stats` are multiples of this, in s. */
export const STEP_S = 10;
/** Longest step, in s: a year. */
export const MAX_STEP_S = 31_536_000;
