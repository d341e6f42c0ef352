import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fchmodSync,
  fchownSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';

/**
 * Writes a file that only its owner can read and change. A reader sees the old file or all of the new one, and the mode is right
 * from the first byte on, also if the old file had another.
 * @param owner of the file, which only root can give away. @throws Error of the system; then the old file is as it was.
 */
export function writePrivateFile(
  path: string,
  text: string,
  owner?: { uid: number; gid: number },
): void {
  // The random name keeps others from preparing a file or a link with it.
  const fresh = `${path}.${randomBytes(8).toString('hex')}.tmp`;
  try {
    const file = openSync(fresh, 'wx', 0o600);
    try {
      // The umask may have removed more.
      fchmodSync(file, 0o600);
      if (owner) fchownSync(file, owner.uid, owner.gid);
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
    renameSync(fresh, path);
  } catch (thrown) {
    rmSync(fresh, { force: true });
    throw thrown;
  }
}
