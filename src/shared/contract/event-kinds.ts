/** Levels of a log event (docs/INTERFACE.md §2.5). The order is that of the `level` code in the ring's index. */
export const LEVELS = ['info', 'warn', 'error', 'state'] as const;
export type Level = (typeof LEVELS)[number];

/**
 * Kinds of SSE frames. `log` and `session` are docs/INTERFACE.md §6; `gap` declares a loss, `alert` is of a rule, `activity` is what a
 * client has done, `operation` how far an operation is (docs/API.md). The order is that of the `kind` code in the ring's index, and in the blocks of journals.
 */
export const KINDS = ['log', 'session', 'gap', 'alert', 'activity', 'operation'] as const;
export type Kind = (typeof KINDS)[number];
