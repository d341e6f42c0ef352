/** The longest delay of a timer, in ms, in Node and in browsers: a longer one fires at once. */
export const MAX_TIMER_MS = 2 ** 31 - 1;
