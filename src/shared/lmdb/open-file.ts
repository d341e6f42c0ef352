import { openForThisProcess } from '../close-on-exec.js';
import { sizeOf } from './file-fault.js';
import { FileRoom } from './file-room.js';
import { open, type RootDatabase, type RootDatabaseOptions } from './lmdb.js';
import { reserveLockFile } from './lock-file.js';

export interface OpenFile {
  root: RootDatabase;
  /** Ask it for room before each commit. */
  room: FileRoom;
  close(): Promise<void>;
}

/**
 * Opens or creates an LMDB file so that a full disk is an ordinary error.
 * @param tableBytes what the tables of a new file take.
 * @throws Error when the directory or the disk does not allow it.
 */
export function openFile(
  path: string,
  options: Omit<RootDatabaseOptions, 'path' | 'noSubdir'>,
  tableBytes: number,
): OpenFile {
  const isNew = sizeOf(path) === undefined;
  reserveLockFile(path);
  const root = openForThisProcess(
    () => open({ path, noSubdir: true, ...options }),
    (opened) => void opened.close(),
  );
  const room = new FileRoom(path, root);
  if (isNew) room.reserve(tableBytes);
  return {
    root,
    room,
    async close() {
      await root.close();
      room.close();
    },
  };
}
