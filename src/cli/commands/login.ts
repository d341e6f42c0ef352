// Runs in the command line. Owns `drover login` and `drover logout`: the PIN for a token, kept in a profile.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, Option } from 'commander';
import { ApiError, DroverClient } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import {
  type ConnectionOptions,
  DEFAULT_URL,
  expectToken,
  givenUrl,
  limit,
  profileOf,
  URL_TEXT,
  withProfile,
  withTimeout,
} from '../connection/connection.js';
import { type Profile, readProfile, removeProfile, writeProfile } from '../connection/profile.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { stopSignal } from '../stop-signals.js';
import { action, complain } from '../terminal/action.js';
import { print } from '../terminal/output.js';

interface LoginOptions extends ConnectionOptions {
  timeout: number;
  pin?: string;
  pinFile?: string;
}

export function addLogin(program: Command): void {
  const loggingIn = program
    .command('login')
    .description('change the PIN of the service for a token, and keep it in a profile')
    .option('--url <address>', URL_TEXT)
    .addOption(
      new Option('--pin <pin>', 'the PIN; asked for when it is left out').conflicts('pinFile'),
    )
    .option(
      '--pin-file <file>',
      'the file that the service keeps it in (pin.txt in its data directory)',
    )
    .addOption(
      new Option('--token <token>', 'keep this token, which is there already').conflicts([
        'pin',
        'pinFile',
      ]),
    );
  withTimeout(withProfile(loggingIn)).action(action(login));
  const loggingOut = program
    .command('logout')
    .description('revoke the token of the profile, and forget it');
  withTimeout(withProfile(loggingOut)).action(action(logout));
}

async function login(options: LoginOptions): Promise<undefined> {
  const path = profileOf(options);
  if (options.token !== undefined) expectToken(options.token);
  const before = savedProfile(path);
  const url = givenUrl(options) ?? before?.url ?? DEFAULT_URL;
  const client = new DroverClient({ url });
  const call = () => ({ signal: limit(options.timeout) });
  // Before somebody types a PIN for nobody.
  await client.health(call());
  const { token: given } = options;
  const token = given ?? (await client.exchangePin(expectPin(await pinOf(options, url)), call()));
  await client
    .withToken(token)
    .apiInfo(call())
    .catch((thrown: unknown) => {
      if (given === undefined || !(thrown instanceof ApiError && thrown.status === 401))
        throw thrown;
      const message = `the token that was given is not good at ${url}; leave out --token to log in with the PIN`;
      throw new CliError(EXIT.not_allowed, message);
    });
  writeProfile(path, { url, token, ...(given === undefined && { own: true }) });
  await print(`logged in at ${url}; the token is kept in ${path}\n`);
  // Nobody knows the earlier one any more.
  if (before?.own && before.token !== token) {
    await revoke(before, options).catch((thrown: unknown) => {
      const why = messageOf(thrown);
      complain(`the token that this profile had before, at ${before.url}, is still good: ${why}`);
    });
  }
}

/** A profile that is broken is what a login is to mend. */
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
    // It is over already; that is what was asked for.
    if (!(thrown instanceof ApiError && thrown.status === 401)) throw thrown;
  }
}

async function pinOf({ pin, pinFile }: LoginOptions, url: string): Promise<string> {
  if (pin !== undefined) return pin.trim();
  if (pinFile !== undefined) {
    try {
      return readFileSync(pinFile, 'utf8').trim();
    } catch (thrown) {
      throw new CliError(EXIT.usage, `the PIN file cannot be read: ${messageOf(thrown)}`);
    }
  }
  if (process.stdin.isTTY) process.stderr.write(`PIN of ${url}: `);
  for await (const line of createInterface({ input: process.stdin, signal: stopSignal })) {
    return line.trim();
  }
  return '';
}

/** @throws CliError for what is no PIN: the service would count it as a wrong one, and of those it takes only some. */
function expectPin(pin: string): string {
  if (/^\d{6}$/.test(pin)) return pin;
  const what = pin === '' ? 'no PIN was given' : 'a PIN has six digits';
  throw new CliError(EXIT.usage, `${what}; the service prints its PIN when it starts`);
}

async function logout(options: LoginOptions): Promise<undefined> {
  const path = profileOf(options);
  const profile = readProfile(path);
  if (!profile) throw new CliError(EXIT.usage, `there is no profile ${path}; nobody is logged in`);
  await revoke(profile, options);
  removeProfile(path);
  await print(`logged out of ${profile.url}\n`);
}
