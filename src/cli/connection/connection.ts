// Which service a command uses, and with which token: flags first, then the environment, then the profile.

import { type Command, Option } from 'commander';
import { DroverClient, type Fetch } from '../../client/index.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { duration } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { type Profile, profilePath, readProfile } from './profile.js';

export const DEFAULT_URL = 'http://localhost:8090';
const DEFAULT_TIMEOUT_MS = 30_000;

export const URL_TEXT = `address of the service (default: DROVER_URL, the profile, or ${DEFAULT_URL})`;
const TOKEN_TEXT = 'access token (default: DROVER_TOKEN, or the profile)';
const PROFILE_TEXT = 'profile saved by drover login (default: DROVER_PROFILE, or "default")';

export interface ConnectionOptions {
  url?: string;
  token?: string;
  profile?: string;
  /** Limit of one call in ms. */
  timeout?: number;
}

/** Adds the flags of a command that uses a service. @param timeout whether to add `--timeout`, the limit of one call. */
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
    new Option('--timeout <time>', 'time limit of one request')
      .argParser(duration)
      .default(DEFAULT_TIMEOUT_MS, '30s'),
  );
}

/** The profile that was named; undefined means the default one. */
function profileName({ profile }: ConnectionOptions, env: NodeJS.ProcessEnv): string | undefined {
  return profile ?? (env['DROVER_PROFILE'] || undefined);
}

/** The path of the profile in use. @throws CliError if its name is invalid. */
export function profileOf(options: ConnectionOptions, env = process.env): string {
  return profilePath(profileName(options, env) ?? 'default', env);
}

/** The profile in use; undefined if there is no default profile. @throws CliError if a named one is missing, or unusable. */
export function askedProfile(options: ConnectionOptions, env = process.env): Profile | undefined {
  const path = profileOf(options, env);
  const profile = readProfile(path);
  if (profile || profileName(options, env) === undefined) return profile;
  throw new CliError(EXIT.usage, `no profile ${path}; create it with drover login`);
}

/** The address from the flag or the environment. @throws CliError if it is invalid. */
export function givenUrl({ url }: ConnectionOptions, env = process.env): string | undefined {
  if (url !== undefined) return urlOf(url, '--url');
  const variable = env['DROVER_URL'] || undefined;
  return variable === undefined ? undefined : urlOf(variable, 'DROVER_URL');
}

/** Address and token of a command. @throws CliError if the address or the profile is unusable. */
export function targetOf(
  options: ConnectionOptions,
  env = process.env,
): { url: string; token: string | undefined; others?: string[] | undefined } {
  const given = givenUrl(options, env);
  const token = options.token ?? (env['DROVER_TOKEN'] || undefined);
  // A broken profile must not matter when it is not needed.
  if (given !== undefined && token !== undefined) return { url: given, token };
  const profile = askedProfile(options, env);
  const own = profile && urlOf(profile.url, profileOf(options, env));
  const url = given ?? own ?? DEFAULT_URL;
  // A profile's token is sent only to the profile's own service.
  if (own !== url) return { url, token };
  return { url, token: token ?? profile?.token, others: profile?.others };
}

/** Errors of a connection over which nothing was sent. */
const NOT_REACHED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** `fetch` that tries the next address when nothing answers at one: every node of a cluster answers every request. */
export function fetchAnyOf(urls: readonly string[]): Fetch {
  const [first = ''] = urls;
  let at = 0;
  return async (target, init) => {
    for (let left = urls.length - 1; ; left -= 1) {
      try {
        return await fetch(`${urls[at]}${target.slice(first.length)}`, init);
      } catch (thrown) {
        const { code } = ((thrown as Error).cause ?? {}) as { code?: unknown };
        if (left === 0 || !NOT_REACHED.has(code)) throw thrown;
        at = (at + 1) % urls.length;
      }
    }
  };
}

export interface Connection {
  client: DroverClient;
  /** Options for one call: aborted at its time limit or on a stop signal. */
  call(): { signal: AbortSignal };
}

/** @throws CliError if there is no token, or the address or profile is unusable. */
export function connect(options: ConnectionOptions): Connection {
  const { url, token, others = [] } = targetOf(options);
  if (token === undefined) {
    throw new CliError(
      EXIT.not_allowed,
      `no token for ${url}; log in with drover login --url ${url}, or set DROVER_TOKEN`,
    );
  }
  expectToken(token);
  return {
    client: new DroverClient({
      url,
      token,
      ...(others.length > 0 && { fetch: fetchAnyOf([url, ...others]) }),
    }),
    call: () => ({ signal: limit(options.timeout ?? DEFAULT_TIMEOUT_MS) }),
  };
}

/** @throws CliError if an HTTP header cannot hold the token; fetch would report that as a connection error. */
export function expectToken(token: string): void {
  if (/^[\x21-\x7e]+$/.test(token)) return;
  throw new CliError(EXIT.usage, 'the token is empty or has invalid characters');
}

const limits = new Set<AbortController>();
stopSignal.addEventListener('abort', () => {
  for (const controller of limits) controller.abort(stopSignal.reason);
});

/** A signal that aborts on a stop signal, or with a TimeoutError after `ms`. */
export function limit(ms: number): AbortSignal {
  // Not AbortSignal.any with AbortSignal.timeout: the timeout can be garbage-collected and then never fires
  // (nodejs/node#57736).
  const controller = new AbortController();
  limits.add(controller);
  const onTimeout = (): void => {
    limits.delete(controller);
    controller.abort(new DOMException('timed out', 'TimeoutError'));
  };
  setTimeout(onTimeout, ms).unref();
  if (stopSignal.aborted) controller.abort(stopSignal.reason);
  return controller.signal;
}

/** @throws CliError if it is no address. */
export function urlOf(url: string, source: string): string {
  try {
    return new DroverClient({ url }).url;
  } catch (thrown) {
    throw new CliError(EXIT.usage, `${source}: ${(thrown as Error).message}`);
  }
}
