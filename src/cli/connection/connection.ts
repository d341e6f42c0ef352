// Runs in the command line. Owns which service a command talks to, and with which token: flags first, then the environment,
// then the profile.

import { type Command, Option } from 'commander';
import { DroverClient } from '../../client/index.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { duration } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { type Profile, profilePath, readProfile } from './profile.js';

export const DEFAULT_URL = 'http://localhost:8090';
const DEFAULT_TIMEOUT_MS = 30_000;

export const URL_TEXT = `address of the service (DROVER_URL, the profile, ${DEFAULT_URL})`;
const TOKEN_TEXT = 'token (DROVER_TOKEN, the profile)';
const PROFILE_TEXT = 'profile that drover login has made (DROVER_PROFILE, default)';

export interface ConnectionOptions {
  url?: string;
  token?: string;
  profile?: string;
  /** For one call, in ms. */
  timeout?: number;
}

/** Adds the flags of a command that talks to a service. @param timeout whether each of its calls has a limit. */
export function withConnection(command: Command, { timeout = true } = {}): Command {
  command.option('--url <address>', URL_TEXT).option('--token <token>', TOKEN_TEXT);
  withProfile(command);
  return timeout ? withTimeout(command) : command;
}

export function withProfile(command: Command): Command {
  return command.option('--profile <name>', PROFILE_TEXT);
}

export function withTimeout(command: Command): Command {
  return command.addOption(
    new Option('--timeout <time>', 'how long one call may take')
      .argParser(duration)
      .default(DEFAULT_TIMEOUT_MS, '30s'),
  );
}

/** The name of the profile that is asked for; undefined when none is, which means the default one. */
function profileName({ profile }: ConnectionOptions, env: NodeJS.ProcessEnv): string | undefined {
  return profile ?? (env['DROVER_PROFILE'] || undefined);
}

/** The file of the profile that is asked for. @throws CliError when that is no name of one. */
export function profileOf(options: ConnectionOptions, env = process.env): string {
  return profilePath(profileName(options, env) ?? 'default', env);
}

/** What is in it; undefined when there is no default one. @throws CliError when it is of no use, or not there. */
export function askedProfile(options: ConnectionOptions, env = process.env): Profile | undefined {
  const path = profileOf(options, env);
  const profile = readProfile(path);
  if (profile || profileName(options, env) === undefined) return profile;
  throw new CliError(EXIT.usage, `there is no profile ${path}; make it with drover login`);
}

/** The address that was given, by flag or environment. @throws CliError when it is none. */
export function givenUrl({ url }: ConnectionOptions, env = process.env): string | undefined {
  if (url !== undefined) return urlOf(url, '--url');
  const variable = env['DROVER_URL'] || undefined;
  return variable === undefined ? undefined : urlOf(variable, 'DROVER_URL');
}

/** Where a command goes, and with what. @throws CliError when the address or the profile is of no use. */
export function targetOf(
  options: ConnectionOptions,
  env = process.env,
): { url: string; token: string | undefined } {
  const given = givenUrl(options, env);
  const token = options.token ?? (env['DROVER_TOKEN'] || undefined);
  // A profile that is not needed cannot be in the way.
  if (given !== undefined && token !== undefined) return { url: given, token };
  const profile = askedProfile(options, env);
  const own = profile && urlOf(profile.url, profileOf(options, env));
  const url = given ?? own ?? DEFAULT_URL;
  // The token of a profile goes to the service that it is for, and to no other.
  return { url, token: token ?? (own === url ? profile?.token : undefined) };
}

export interface Connection {
  client: DroverClient;
  /** A fresh limit for each call; it also ends with the command. */
  call(): { signal: AbortSignal };
}

/** @throws CliError when there is no token, or the address or profile is of no use. */
export function connect(options: ConnectionOptions): Connection {
  const { url, token } = targetOf(options);
  if (token === undefined) {
    throw new CliError(
      EXIT.not_allowed,
      `there is no token for ${url}; log in with drover login --url ${url}, or set DROVER_TOKEN`,
    );
  }
  expectToken(token);
  return {
    client: new DroverClient({ url, token }),
    call: () => ({ signal: limit(options.timeout ?? DEFAULT_TIMEOUT_MS) }),
  };
}

/** @throws CliError for what no header can hold: it would be an answer that never came. */
export function expectToken(token: string): void {
  if (/^[\x21-\x7e]+$/.test(token)) return;
  throw new CliError(EXIT.usage, 'the token is empty or has characters that no token has');
}

const limits = new Set<AbortController>();
stopSignal.addEventListener('abort', () => {
  for (const controller of limits) controller.abort(stopSignal.reason);
});

/** Aborted when the command is to end, or after so many ms with a TimeoutError. */
export function limit(ms: number): AbortSignal {
  // By hand: what AbortSignal.any makes of AbortSignal.timeout may be collected before its time, and then never aborts
  // (nodejs/node#57736).
  const controller = new AbortController();
  limits.add(controller);
  const isLate = (): void => {
    limits.delete(controller);
    controller.abort(new DOMException('it took too long', 'TimeoutError'));
  };
  setTimeout(isLate, ms).unref();
  if (stopSignal.aborted) controller.abort(stopSignal.reason);
  return controller.signal;
}

function urlOf(url: string, source: string): string {
  try {
    return new DroverClient({ url }).url;
  } catch (thrown) {
    throw new CliError(EXIT.usage, `${source}: ${(thrown as Error).message}`);
  }
}
