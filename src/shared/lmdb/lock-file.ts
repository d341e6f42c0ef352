import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  writeFileSync,
} from 'node:fs';

/** More than LMDB needs for its readers. */
const LOCK_BYTES = 16 * 1024;

export const lockFileOf = (path: string): string => `${path}-lock`;

/**
 * Allocates the lock file of an LMDB file on the disk. LMDB creates it as a sparse file and maps it: when the disk has no room
 * for one of its pages, access to that page ends the process with SIGBUS. Allocated here, a full disk is an ordinary error.
 * Call it before each opening, never while this process has the file open: closing a file releases all of the process's locks
 * on it (fcntl), LMDB's too, and the next process to open it would reset the lock file under those that use it.
 * @throws Error when the directory or the disk does not allow it.
 */
export function reserveLockFile(path: string): void {
  const file = openSync(lockFileOf(path), constants.O_RDWR | constants.O_CREAT, 0o600);
  try {
    const { size, blocks } = fstatSync(file);
    const bytes = Buffer.alloc(Math.max(size, LOCK_BYTES));
    if (size === bytes.length && blocks * 512 >= size) return;
    // Its content stays: another process may be using it.
    readSync(file, bytes, 0, size, 0);
    writeFileSync(file, bytes);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
