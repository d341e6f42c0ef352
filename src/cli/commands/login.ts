// `drover login` exchanges the PIN for a token and saves it in a profile; `drover logout` revokes and removes it.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import { ApiError, DroverClient } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { write } from '../../shared/terminal.js';
import {
  type ConnectionOptions,
  DEFAULT_URL,
  expectToken,
  givenUrl,
  limit,
  profileOf,
  URL_TEXT,
  urlOf,
  withProfile,
  withTimeout,
} from '../connection/connection.js';
import { type Profile, readProfile, removeProfile, writeProfile } from '../connection/profile.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { list } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { printLine } from '../terminal/output.js';

interface LoginOptions extends ConnectionOptions {
  timeout: number;
  pin?: string;
  pinFile?: string;
  also?: string[];
}

export function addLogin(program: Command): void {
  const loggingIn = program
    .command('login')
    .description("exchange the service's PIN for a token and save it in a profile")
    .option('--url <address>', URL_TEXT)
    .addOption(
      new Option('--pin <pin>', 'PIN of the service (default: read from standard input)').conflicts(
        'pinFile',
      ),
    )
    .option(
      '--also <addresses>',
      'other nodes of the cluster, for when this one does not answer (comma-separated)',
      list,
    )
    .option('--pin-file <file>', 'file with the PIN (pin.txt in the data directory of the service)')
    .addOption(
      new Option('--token <token>', 'save an existing token instead of using the PIN').conflicts([
        'pin',
        'pinFile',
      ]),
    );
  withTimeout(withProfile(loggingIn)).action(action(login));
  const loggingOut = program
    .command('logout')
    .description("revoke the profile's token and delete the profile");
  withTimeout(withProfile(loggingOut)).action(action(logout));
}

async function login(options: LoginOptions): Promise<undefined> {
  const path = profileOf(options);
  if (options.token !== undefined) expectToken(options.token);
  const before = savedProfile(path);
  const url = givenUrl(options) ?? before?.url ?? DEFAULT_URL;
  const client = new DroverClient({ url });
  const call = () => ({ signal: limit(options.timeout) });
  // Before asking for the PIN, check that the service answers.
  await client.health(call());
  const { token: given } = options;
  const token = given ?? (await client.exchangePin(expectPin(await pinOf(options, url)), call()));
  await client
    .withToken(token)
    .apiInfo(call())
    .catch((thrown: unknown) => {
      if (given === undefined || !(thrown instanceof ApiError && thrown.status === 401))
        throw thrown;
      const message = `${url} does not accept this token; omit --token to log in with the PIN`;
      throw new CliError(EXIT.not_allowed, message);
    });
  const others = options.also?.map((one) => urlOf(one, '--also'));
  writeProfile(path, {
    url,
    token,
    ...(others && { others }),
    ...(given === undefined && { own: true }),
  });
  await printLine(`logged in to ${url}; the token is saved in ${path}`);
  // The profile's previous token is no longer in use.
  if (before?.own && before.token !== token) {
    await revoke(before, options).catch((thrown: unknown) => {
      const why = messageOf(thrown);
      complain(`cannot revoke the previous token of this profile at ${before.url}: ${why}`);
    });
  }
}

/** A damaged profile is ignored: login replaces it. */
function savedProfile(path: string): Profile | undefined {
  try {
    return readProfile(path);
  } catch {
    return undefined;
  }
}

async function revoke(profile: Profile, { timeout }: LoginOptions): Promise<void> {
  try {
    await new DroverClient(profile).tokens.revokeCurrent({ signal: limit(timeout) });
  } catch (thrown) {
    // Already revoked or expired.
    if (!(thrown instanceof ApiError && thrown.status === 401)) throw thrown;
  }
}

async function pinOf({ pin, pinFile }: LoginOptions, url: string): Promise<string> {
  if (pin !== undefined) return pin.trim();
  if (pinFile !== undefined) {
    try {
      return readFileSync(pinFile, 'utf8').trim();
    } catch (thrown) {
      throw new CliError(EXIT.usage, `cannot read the PIN file: ${messageOf(thrown)}`);
    }
  }
  if (process.stdin.isTTY) write(process.stderr, `PIN for ${url}: `);
  for await (const line of createInterface({ input: process.stdin, signal: stopSignal })) {
    return line.trim();
  }
  return '';
}

/** @throws CliError for a malformed PIN, which would use up one of the service's allowed attempts. */
function expectPin(pin: string): string {
  if (/^\d{6}$/.test(pin)) return pin;
  const what = pin === '' ? 'no PIN given' : 'a PIN has six digits';
  throw new CliError(EXIT.usage, `${what}; the service prints its PIN when it starts`);
}

async function logout(options: LoginOptions): Promise<undefined> {
  const path = profileOf(options);
  const profile = readProfile(path);
  if (!profile) throw new CliError(EXIT.usage, `not logged in: no profile ${path}`);
  await revoke(profile, options);
  removeProfile(path);
  await printLine(`logged out of ${profile.url}`);
}
