// Runs in the command line. Owns the profiles: which service, and the token for it, in files that only their owner may read.

import {
  chmodSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';

export interface Profile {
  url: string;
  token: string;
  /** Login made the token for this profile. One that was given to it (--token) may be in use elsewhere. */
  own?: true;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Group and others. */
const NOT_THE_OWNER = 0o077;

/** Where the platform keeps a user's configuration. */
export function configDir(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (platform === 'win32')
    return join(env['APPDATA'] ?? join(homedir(), 'AppData', 'Roaming'), 'drover');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'drover');
  return join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'drover');
}

/** @throws CliError when it is no name of a profile. */
export function profilePath(name: string, env: NodeJS.ProcessEnv): string {
  if (!NAME.test(name)) {
    throw new CliError(
      EXIT.usage,
      `${JSON.stringify(name)} is no name of a profile; use letters, digits, dots and dashes`,
    );
  }
  return join(configDir(env), 'profiles', `${name}.json`);
}

/** @returns undefined when there is none. @throws CliError when it cannot be used, saying what to do. */
export function readProfile(path: string): Profile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
    if (process.platform !== 'win32' && (statSync(path).mode & NOT_THE_OWNER) !== 0) {
      throw new Error(`others may read the token in it; run chmod 600 ${path}`);
    }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(EXIT.usage, `the profile ${path} is not used: ${messageOf(thrown)}`);
  }
  const profile = profileIn(text);
  if (profile) return profile;
  throw new CliError(EXIT.usage, `the profile ${path} is broken; make it anew with drover login`);
}

/** @throws CliError when it cannot be written. */
export function writeProfile(path: string, profile: Profile): void {
  const fresh = `${path}.${process.pid}.tmp`;
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    // Written aside and renamed, so that the mode holds from the first byte on.
    writeFileSync(fresh, `${JSON.stringify(profile, null, 2)}\n`, {
      mode: 0o600,
      flag: 'wx',
    });
    // The mask of the process may have taken more away than was meant.
    chmodSync(fresh, 0o600);
    renameSync(fresh, path);
  } catch (thrown) {
    throw new CliError(EXIT.failed, `the profile ${path} cannot be written: ${messageOf(thrown)}`);
  }
}

export function removeProfile(path: string): void {
  rmSync(path, { force: true });
}

function profileIn(text: string): Profile | undefined {
  try {
    const { url, token, own } = JSON.parse(text) as Partial<Profile>;
    const isWhole = typeof url === 'string' && typeof token === 'string' && token !== '';
    if (!isWhole || !URL.canParse(url)) return undefined;
    return { url, token, ...(own === true && { own }) };
  } catch {
    return undefined;
  }
}
