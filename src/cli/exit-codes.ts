/** Exit codes of all commands. A test checks docs/CLI.md against this table. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  no_service: 3,
  not_allowed: 4,
  not_found: 5,
  timeout: 6,
  not_as_expected: 7,
  other_version: 8,
  interrupted: 130,
} as const;

/** For `--help` and docs/CLI.md. */
export const EXIT_MEANING: Record<keyof typeof EXIT, string> = {
  ok: 'success',
  failed: 'the service or the bot refused the request, or it failed',
  usage:
    'wrong command, flag, argument, address or profile; `apply --dry-run`: something would change',
  no_service:
    'no service at the address, or it was gone when `record`, `check --live` or `wait` ended',
  not_allowed: 'missing or invalid token, missing scope, or wrong PIN',
  not_found: 'no such bot, token, command, kind, incident or operation',
  timeout: 'timed out',
  not_as_expected:
    '`check`: an expectation failed; `doctor`: a check failed; `kinds test`: something is left behind',
  other_version: 'not a Drover service, or a service of another version',
  interrupted: 'interrupted by Ctrl-C or SIGTERM',
};
