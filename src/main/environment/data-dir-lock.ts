// Runs in main. Owns the lock that reserves a data directory for one service. The kernel releases it when the process ends,
// also after kill -9, so there are no stale locks. Users who cannot use the directory cannot reach its lock either.
// See docs/decisions/0009.

import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, StartupError } from '../../shared/errors.js';
import { type LockAttempt, socketHolder, trySocketLock, UNKNOWN_HOLDER } from './socket-lock.js';

/** How long a killed process may take to release its lock, in ms. Meanwhile it does not answer. */
const DYING_MS = 3000;
const RETRY_MS = 25;
/** Opens a file for this process alone: O_EXLOCK of macOS and the BSDs; on Windows libuv's flag for no sharing. */
const OPEN_EXCLUSIVE = process.platform === 'win32' ? 0x10000000 : 0x20;
/** Error codes of an open that fails because another process has the file: of macOS and the BSDs, and of Windows. */
const TAKEN = ['EAGAIN', 'EBUSY'];

/**
 * Locks the directory until this process ends, or until the function that it returns is called.
 * @throws StartupError when another process has locked it.
 */
export async function lockDataDir(dir: string): Promise<() => void> {
  const deadline = performance.now() + DYING_MS;
  for (;;) {
    const attempt = await tryLock(dir).catch((thrown: unknown) => {
      throw new StartupError(`the data directory ${dir} cannot be locked: ${messageOf(thrown)}`);
    });
    if ('release' in attempt) return attempt.release;
    const { holder } = attempt;
    if (holder !== undefined || performance.now() > deadline) {
      throw new StartupError(
        `the data directory ${dir} is in use by ${holder ?? UNKNOWN_HOLDER}; ` +
          'stop that one, or give another directory with --data-dir',
      );
    }
    await delay(RETRY_MS);
  }
}

/** The process that has locked the directory; undefined for none. */
export async function dataDirHolder(dir: string): Promise<string | undefined> {
  if (process.platform === 'linux') return socketHolder(dir);
  const attempt = tryFileLock(dir);
  if (!('release' in attempt)) return attempt.holder ?? UNKNOWN_HOLDER;
  attempt.release();
  return undefined;
}

async function tryLock(dir: string): Promise<LockAttempt> {
  return process.platform === 'linux' ? trySocketLock(dir) : tryFileLock(dir);
}

/** Keeps the file open: that is what holds the lock. */
function tryFileLock(dir: string): LockAttempt {
  const path = join(dir, 'lock');
  const { O_RDWR, O_CREAT, O_NONBLOCK } = constants;
  let file: number;
  try {
    file = openSync(path, O_RDWR | O_CREAT | O_NONBLOCK | OPEN_EXCLUSIVE, 0o600);
  } catch (thrown) {
    if (!TAKEN.includes((thrown as NodeJS.ErrnoException).code ?? '')) throw thrown;
    return { holder: process.platform === 'win32' ? undefined : holderIn(path) };
  }
  writeFileSync(file, String(process.pid));
  return { release: () => closeSync(file) };
}

function holderIn(path: string): string | undefined {
  const text = readFileSync(path, 'utf8');
  return /^\d+$/.test(text) ? `process ${text}` : undefined;
}
