// Bounds of a query's parts. A query above a bound is an error that names the bound.

export const MAX_TERMS = 50;
/** Values of one term. */
export const MAX_TERM_VALUES = 200;
/** Characters of a regular expression, and how many a query may have. */
export const MAX_REGEX = 256;
export const MAX_REGEXES = 4;
/** Characters of a name behind `data.` or `label.`, and its parts between dots: each may be a name that has dots itself. */
export const MAX_PATH = 300;
export const MAX_PATH_PARTS = 32;
