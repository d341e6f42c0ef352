// Selects the variables of the service's environment that bots, their hosts and their programs get. The others may be
// secrets.

import type { JsonObject } from './contract/json.js';
import type { Program } from './contract/programs.js';

/**
 * Variables that a program needs to find its files, its language, its time zone, and the network. `*` ends a prefix.
 */
const PASSED: readonly string[] = [
  ...['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TMPDIR', 'LD_LIBRARY_PATH'],
  ...['LANG', 'LANGUAGE', 'LC_*', 'TZ', 'TZDIR'],
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'NO_PROXY'],
  ...['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy'],
  ...['NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_ENV'],
];
/** Without these, programs do not run on Windows. There, names have no case. */
const PASSED_ON_WINDOWS: readonly string[] = [
  ...['SYSTEMROOT', 'SYSTEMDRIVE', 'WINDIR', 'COMSPEC', 'PATHEXT', 'TEMP', 'TMP', 'USERNAME'],
  ...['USERPROFILE', 'HOMEDRIVE', 'HOMEPATH', 'APPDATA', 'LOCALAPPDATA', 'PROGRAMDATA'],
];
/**
 * Variables for the service itself: its configuration, its channels to systemd, its credentials, and options for its
 * Node.
 */
const NEVER =
  /^(?:DROVER_.*|NOTIFY_SOCKET|LISTEN_.*|WATCHDOG_.*|CREDENTIALS_DIRECTORY|NODE_OPTIONS|NODE_V8_COVERAGE)$/i;

/** @param more of the operator (`hosts.env`). @throws Error that names one which bots never get. */
export function checkPassed(more: readonly string[]): void {
  const never = more.find((name) => NEVER.test(name));
  if (never !== undefined) {
    throw new Error(`${never} is for the service itself, and never passed to bots`);
  }
}

/**
 * The part of `env` that bots get. @param more of the operator (`hosts.env`): names, and beginnings of names with `*`.
 */
export function botEnvironment(
  env: NodeJS.ProcessEnv,
  more: readonly string[],
  platform = process.platform,
): Record<string, string> {
  const isWindows = platform === 'win32';
  const passed = [...PASSED, ...(isWindows ? PASSED_ON_WINDOWS : []), ...more];
  const fold = (name: string): string => (isWindows ? name.toUpperCase() : name);
  const names = new Set(passed.filter((name) => !name.endsWith('*')).map(fold));
  const beginnings = passed.flatMap((name) => (name.endsWith('*') ? fold(name.slice(0, -1)) : []));
  const isPassed = (name: string): boolean =>
    !NEVER.test(name) && (names.has(name) || beginnings.some((start) => name.startsWith(start)));
  const kept = Object.entries(env).filter(
    ([name, value]) => value !== undefined && isPassed(fold(name)),
  );
  return Object.fromEntries(kept) as Record<string, string>;
}

/**
 * Removes the variables that bots do not get from the environment of this thread or process. Call it before any code of
 * a bot runs.
 */
export function keepForBots(env: NodeJS.ProcessEnv, more: readonly string[]): void {
  const kept = botEnvironment(env, more);
  for (const name of Object.keys(env)) if (!Object.hasOwn(kept, name)) delete env[name];
}

/** The environment of the program of a bot. @param config of the bot. @param more as for {@link botEnvironment}. */
export function programEnvironment(
  id: string,
  { kind, definition: { env = {} } }: Pick<Program, 'kind' | 'definition'>,
  config: JsonObject,
  more: readonly string[] = [],
): Record<string, string> {
  const own = Object.entries(env).flatMap(([name, value]): [string, string][] => {
    if (typeof value === 'string') return [[name, value]];
    const given = config[value.config];
    // The bot does not have this optional key.
    if (given === undefined || given === null) return [];
    return [[name, typeof given === 'string' ? given : JSON.stringify(given)]];
  });
  return {
    ...botEnvironment(process.env, more),
    DROVER_BOT_ID: id,
    DROVER_KIND: kind,
    ...Object.fromEntries(own),
  };
}
