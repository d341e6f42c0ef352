// Bounds of rules. Not with the schemas in rules.ts, so that threads and pages that validate nothing do not load
// TypeBox.

/** Most rules; a further one is refused, because each enabled rule is evaluated for every line. */
export const MAX_RULES = 100;
export const MAX_RULE_NAME = 100;
/** In ms. */
export const WINDOW = { minimum: 5000, maximum: 86_400_000 } as const;
export const MAX_FOR_MS = 86_400_000;
export const MAX_THRESHOLD = 1_000_000_000;
/** Ids that a rule names of the bots it is about. */
export const MAX_RULE_BOTS = 10;

/** What a rule looks at: lines within a window, that there are none, lines per second, or bots. */
export const CONDITIONS = ['count', 'rate', 'absence', 'bots'] as const;
export type Condition = (typeof CONDITIONS)[number];

export const SEVERITIES = ['info', 'warn', 'error'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const RULE_STATES = ['off', 'refused', 'unknown', 'ok', 'pending', 'firing'] as const;
export type RuleState = (typeof RULE_STATES)[number];
