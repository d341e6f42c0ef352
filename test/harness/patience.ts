// Test harness. How long a wait may take before it counts as one that never ends. No test measures time with it: a shared
// machine may give a process no turn for many seconds.

/** In ms; well below the time that a test has (vitest.config.ts), so that it says what it waited for. */
export const PATIENCE_MS = 40_000;
