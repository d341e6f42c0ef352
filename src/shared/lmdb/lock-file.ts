// Runs in main and the journal thread. Owns that the lock file of an LMDB file has its place on the disk before LMDB maps it.

import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs';

/** More than LMDB takes for its readers; it is content with more. */
const LOCK_BYTES = 16 * 1024;

export const lockFileOf = (path: string): string => `${path}-lock`;

/**
 * To be called before each opening, and never while this process has the file open: whoever closes a file gives up all of
 * the process's locks on it (fcntl), LMDB's too, and the next process to open it would begin the lock file anew, below those
 * that use it. LMDB makes the file as a hole and maps it: when the disk then has no room for a page
 * of it, touching that page ends the process with SIGBUS. Written here, a full disk is an error like any other.
 * @throws Error when the directory or the disk does not allow it.
 */
export function reserveLockFile(path: string): void {
  const file = openSync(lockFileOf(path), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { size, blocks } = fstatSync(file);
    const bytes = Buffer.alloc(Math.max(size, LOCK_BYTES));
    if (size === bytes.length && blocks * 512 >= size) return;
    // What is in it stays: somebody may be reading that.
    readSync(file, bytes, 0, size, 0);
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
