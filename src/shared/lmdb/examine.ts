// Runs in the verifiers' processes. The exit code for a broken file is used only for errors that the file's contents cause: a
// good file that cannot be opened or read must not count as broken.

import { closeSync, openSync } from 'node:fs';
import { messageOf } from '../errors.js';
import { write } from '../terminal.js';
import { BROKEN_EXIT_CODE, UNKNOWN_EXIT_CODE } from './file-fault.js';

/**
 * Errors of LMDB that the file's contents cause: MDB_PAGE_NOTFOUND, MDB_CORRUPTED, MDB_INVALID, MDB_CURSOR_FULL,
 * MDB_INCOMPATIBLE, MDB_PROBLEM. What is above 0 is an errno.
 */
const BROKEN: ReadonlySet<unknown> = new Set([-30797, -30796, -30793, -30787, -30784, -30779]);

/** Runs `read`, which throws when it finds a fault in the LMDB file, and sets this process's exit code. */
export function examine(path: string, read: () => void): void {
  try {
    // Checks this first: LMDB would read from an environment that it could not open, and crash as with a broken file.
    closeSync(openSync(path, 'r'));
    closeSync(openSync(`${path}-lock`, 'a+'));
    read();
  } catch (thrown) {
    write(process.stderr, messageOf(thrown));
    process.exitCode = isOfFile(thrown) ? BROKEN_EXIT_CODE : UNKNOWN_EXIT_CODE;
  }
}

function isOfFile(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return true;
  // A code of the system (`EMFILE`), or a number of LMDB. Errors of decoding have none, or one of Node's.
  const { code } = thrown as { code?: unknown };
  if (typeof code === 'number') return BROKEN.has(code);
  if (typeof code === 'string') return code.startsWith('ERR_');
  return !/allocation failed|out of memory/i.test(thrown.message);
}
