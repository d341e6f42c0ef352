import { mkdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../shared/errors.js';
import { writePrivateFile } from '../../shared/private-file.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';

export interface Profile {
  url: string;
  token: string;
  /** Other nodes of the cluster, which are tried when nothing answers at `url`. */
  others?: string[];
  /** The token was created by login for this profile. One given with --token may be in use elsewhere. */
  own?: true;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const GROUP_AND_OTHERS = 0o077;

/** The platform's directory for user configuration. */
export function configDir(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (platform === 'win32')
    return join(env['APPDATA'] ?? join(homedir(), 'AppData', 'Roaming'), 'drover');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'drover');
  return join(env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'drover');
}

/** @throws CliError if the name is invalid. */
export function profilePath(name: string, env: NodeJS.ProcessEnv): string {
  if (!NAME.test(name)) {
    throw new CliError(
      EXIT.usage,
      `${JSON.stringify(name)} is not a valid profile name; use letters, digits, dots, underscores and dashes`,
    );
  }
  return join(configDir(env), 'profiles', `${name}.json`);
}

/** @returns undefined if there is no such file. @throws CliError if the profile cannot be used. */
export function readProfile(path: string): Profile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
    if (process.platform !== 'win32' && (statSync(path).mode & GROUP_AND_OTHERS) !== 0) {
      throw new Error(`other users can read the token in it; run chmod 600 ${path}`);
    }
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new CliError(EXIT.usage, `cannot use the profile ${path}: ${messageOf(thrown)}`);
  }
  const profile = profileIn(text);
  if (profile) return profile;
  throw new CliError(EXIT.usage, `the profile ${path} is damaged; run drover login to replace it`);
}

/** @throws CliError */
export function writeProfile(path: string, profile: Profile): void {
  try {
    mkdirSync(join(path, '..'), { recursive: true, mode: 0o700 });
    writePrivateFile(path, `${JSON.stringify(profile, null, 2)}\n`);
  } catch (thrown) {
    throw new CliError(EXIT.failed, `cannot write the profile ${path}: ${messageOf(thrown)}`);
  }
}

export function removeProfile(path: string): void {
  rmSync(path, { force: true });
}

function profileIn(text: string): Profile | undefined {
  try {
    const { url, token, others, own } = JSON.parse(text) as Partial<Profile>;
    const isComplete = typeof url === 'string' && typeof token === 'string' && token !== '';
    if (!isComplete || !URL.canParse(url)) return undefined;
    const more = Array.isArray(others) ? others.filter((one) => URL.canParse(one)) : [];
    return { url, token, ...(more.length > 0 && { others: more }), ...(own === true && { own }) };
  } catch {
    return undefined;
  }
}
