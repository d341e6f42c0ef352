/** A restart policy without a wait, for bots with a fake host. */
export const RESTART_AT_ONCE = {
  policy: 'always' as const,
  max_restarts: 5,
  window_ms: 60_000,
  backoff_ms: 0,
  backoff_cap_ms: 0,
  healthy_ms: 5000,
};
