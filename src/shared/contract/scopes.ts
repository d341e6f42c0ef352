// The scopes of lines that only the service writes: who reads them, a rule or an audit, can rely on that. All others are free, and
// `bot`, `tcp` and `http` are those that the service and the code of bots share.

/** The service itself (docs/INTERFACE.md §2.5). */
export const SERVICE_SCOPE = 'drover';
/** Lines about what the service runs: its version and its kinds. */
export const CONTROL_SCOPE = 'drover.control';
/** A rule fires, or stops. Rules do not count these lines. */
export const RULES_SCOPE = 'drover.rules';
/** Security events: tokens, the PIN, refused clients. */
export const AUTH_SCOPE = 'auth';
export const JOURNAL_SCOPE = 'journal';
/** Outcomes of commands: dispatch-line.ts. Hosts write them too, for their bots. */
export const DISPATCH_SCOPE = 'dispatch';

const SERVICE_SCOPES: readonly string[] = [
  SERVICE_SCOPE,
  CONTROL_SCOPE,
  RULES_SCOPE,
  AUTH_SCOPE,
  JOURNAL_SCOPE,
  DISPATCH_SCOPE,
];
const RESERVED_PREFIX = `${SERVICE_SCOPE}.`;

/** Whether only the service writes in a scope; also for one that looks the same to a reader. */
export function isServiceScope(scope: string): boolean {
  const name = scope.trim().toLowerCase();
  return SERVICE_SCOPES.includes(name) || name.startsWith(RESERVED_PREFIX);
}
