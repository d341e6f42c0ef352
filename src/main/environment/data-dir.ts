import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { messageOf, StartupError } from '../../shared/errors.js';
import { writePrivateFile } from '../../shared/private-file.js';
import { lockDataDir } from './data-dir-lock.js';

const OTHERS_WRITE = 0o002;

/** The platform's directory for application data. */
export function defaultDataDir(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'drover');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'drover');
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'drover');
}

/**
 * Creates the directory with mode 0700, unless it exists, and locks it for this process. The PIN of an earlier one is removed.
 * @throws StartupError when it cannot be created or written, when all users can write to it, or when another process has locked
 * it.
 */
export async function openDataDir(path: string): Promise<string> {
  const dir = resolve(path);
  // Every file that is created from now on is private to its owner, the store's files too.
  process.umask(0o077);
  try {
    createDir(dir);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
    expectPrivate(dir);
  } catch (thrown) {
    throw new StartupError(
      `the data directory ${dir} cannot be used (${messageOf(thrown)}); give another with --data-dir`,
    );
  }
  await lockDataDir(dir);
  removePin(dir);
  return dir;
}

/**
 * All users could take the place of its files, or prepare files that the service writes to. Its group may write: where a volume
 * belongs to a group, that is how the service gets in.
 * @throws Error when all users can write to it.
 */
export function expectPrivate(dir: string): void {
  if (process.platform === 'win32' || (statSync(dir).mode & OTHERS_WRITE) === 0) return;
  throw new Error(`all users can write to it; run chmod 700 ${dir}, or use a directory in it`);
}

/** Without `recursive`, which never returns where the system refuses a directory (/proc). */
function createDir(dir: string): void {
  if (existsSync(dir)) {
    if (statSync(dir).isDirectory()) return;
    throw new Error(`${dir} is not a directory`);
  }
  const parent = dirname(dir);
  if (parent !== dir) createDir(parent);
  try {
    mkdirSync(dir, { mode: 0o700 });
  } catch (thrown) {
    // Another service that starts at the same time may have created it since.
    if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
  }
}

const pinFile = (dir: string): string => join(dir, 'pin.txt');

/** Removes pin.txt, also one that was not completed: its PIN is not valid any more. @throws StartupError when that is not possible. */
export function removePin(dir: string): void {
  const path = pinFile(dir);
  try {
    const left = readdirSync(dir).filter((name) => /^pin\.txt(\.[0-9a-f]+\.tmp)?$/.test(name));
    for (const name of left) rmSync(join(dir, name), { force: true });
  } catch (thrown) {
    throw new StartupError(
      `${path}, with a PIN that is not valid, cannot be removed: ${messageOf(thrown)}`,
    );
  }
}

/**
 * Writes the PIN to pin.txt (docs/INTERFACE.md §1) with mode 0600.
 * @returns the file's path. @throws StartupError when it cannot be written.
 */
export function writePin(dir: string, pin: string): string {
  const path = pinFile(dir);
  try {
    writePrivateFile(path, `${pin}\n`);
  } catch (thrown) {
    throw new StartupError(`the PIN cannot be written to ${path}: ${messageOf(thrown)}`);
  }
  return path;
}

/** The folder of the recordings and reports that the dashboard offers. It may be missing: the service never writes to it. */
export function runsDir(dataDir: string): string {
  return join(dataDir, 'runs');
}
