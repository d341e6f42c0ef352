import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { messageOf, StartupError } from '../shared/errors.js';
import { lockDataDir } from './data-dir-lock.js';

/** The platform's directory for application data. */
export function defaultDataDir(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'drover');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'drover');
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'drover');
}

/**
 * Creates the directory with mode 0700, unless it exists, and locks it for this process.
 * @throws StartupError when it cannot be created or written, or when another process has locked it.
 */
export async function openDataDir(path: string): Promise<string> {
  const dir = resolve(path);
  // Every file that is created from now on is private to its owner, the store's files too.
  process.umask(0o077);
  try {
    createDir(dir);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    throw new StartupError(
      `the data directory ${dir} cannot be used (${messageOf(thrown)}); give another with --data-dir`,
    );
  }
  await lockDataDir(dir);
  return dir;
}

/** Not with `recursive`: that never returns where the system refuses a directory (/proc). */
function createDir(dir: string): void {
  if (existsSync(dir)) {
    if (statSync(dir).isDirectory()) return;
    throw new Error(`${dir} is not a directory`);
  }
  const parent = dirname(dir);
  if (parent !== dir) createDir(parent);
  mkdirSync(dir, { mode: 0o700 });
}

/**
 * Writes the PIN to pin.txt (interface-seed §1) with mode 0600.
 * @returns the file's path. @throws StartupError when it cannot be written.
 */
export function writePin(dir: string, pin: string): string {
  const path = join(dir, 'pin.txt');
  const fresh = `${path}.${process.pid}.tmp`;
  try {
    // Written to another file and renamed: a reader never sees half a PIN, and the mode is right from the first byte on, even
    // if the file existed with another mode.
    writeFileSync(fresh, `${pin}\n`, { mode: 0o600, flag: 'w' });
    renameSync(fresh, path);
  } catch (thrown) {
    throw new StartupError(`the PIN cannot be written to ${path}: ${messageOf(thrown)}`);
  }
  return path;
}
