// Bounds of a query's parts. What is beyond them is an error that names the bound.

export const MAX_TERMS = 50;
/** Values of one term. */
export const MAX_TERM_VALUES = 200;
/** Characters of a regular expression, and how many a query may have. */
export const MAX_REGEX = 256;
export const MAX_REGEXES = 4;
