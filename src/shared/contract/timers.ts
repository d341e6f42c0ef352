// Pure; used wherever a time that somebody has given is waited for. Owns what a timer can do.

/** The longest that a timer can wait, in ms, in Node and in browsers: one that is to wait longer is over at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
