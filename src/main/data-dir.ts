// Runs in main. Owns the data directory and the PIN file in it.

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

/** Where the platform keeps an application's data. */
export function defaultDataDir(env: NodeJS.ProcessEnv, platform = process.platform): string {
  if (platform === 'win32')
    return join(env['LOCALAPPDATA'] ?? join(homedir(), 'AppData', 'Local'), 'drover');
  if (platform === 'darwin') return join(homedir(), 'Library', 'Application Support', 'drover');
  return join(env['XDG_DATA_HOME'] || join(homedir(), '.local', 'share'), 'drover');
}

/**
 * Makes the directory, for its owner only (0700); one that exists keeps its mode. It is this process's alone from then on.
 * @throws StartupError when it cannot be made or written to, or when another process has it.
 */
export async function openDataDir(path: string): Promise<string> {
  const dir = resolve(path);
  // What is made in it from now on is the owner's only, the store's files too.
  process.umask(0o077);
  try {
    makeDir(dir);
    accessSync(dir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (thrown) {
    throw new StartupError(
      `the data directory ${dir} cannot be used (${messageOf(thrown)}); give another with --data-dir`,
    );
  }
  await lockDataDir(dir);
  return dir;
}

/** Step by step: Node's own recursive form never returns where the system says that a directory cannot be (/proc). */
function makeDir(dir: string): void {
  if (existsSync(dir)) {
    if (statSync(dir).isDirectory()) return;
    throw new Error(`${dir} is no directory`);
  }
  const parent = dirname(dir);
  if (parent !== dir) makeDir(parent);
  mkdirSync(dir, { mode: 0o700 });
}

/**
 * Keeps the PIN in pin.txt (interface-seed §1), readable by its owner only (0600).
 * @returns the file's path. @throws StartupError when it cannot be written.
 */
export function writePin(dir: string, pin: string): string {
  const path = join(dir, 'pin.txt');
  const fresh = `${path}.${process.pid}.tmp`;
  try {
    // Written aside and renamed: a reader sees the old PIN or the new one, never half of it. The mode holds from the
    // first byte on, also where the file existed with another.
    writeFileSync(fresh, `${pin}\n`, { mode: 0o600, flag: 'w' });
    renameSync(fresh, path);
  } catch (thrown) {
    throw new StartupError(`the PIN cannot be kept in ${path}: ${messageOf(thrown)}`);
  }
  return path;
}
