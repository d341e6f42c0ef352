// How long a wait may take before it counts as endless. No test measures time with it: a busy machine may not schedule a
// process for many seconds.

/** In ms. Well below a test's timeout (vitest.config.ts), so that the error names the missing event. */
export const PATIENCE_MS = 40_000;
