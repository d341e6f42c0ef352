// Runs in the command line. Owns the exit codes of all commands; docs/CLI.md has them, and a test holds it to this table.

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

/** What each means, for `--help` and docs/CLI.md. */
export const EXIT_MEANING: Record<keyof typeof EXIT, string> = {
  ok: 'done',
  failed: 'the service or the bot refused, or could not do it',
  usage: 'wrong command, flag, argument, address or profile, also where only the service can tell',
  no_service:
    'no service answers at the address, or it was gone when `record`, `check --live` or `wait` ended',
  not_allowed: 'no token, one that is not good, or one without the scope; a wrong PIN',
  not_found: 'there is no such bot, token or command',
  timeout: 'it was not done in time',
  not_as_expected: '`check` found something that is not as expected, `doctor` a fault',
  other_version: 'what answers is no Drover service, or one of another version',
  interrupted: 'ended by Ctrl-C or SIGTERM before it was done',
};
