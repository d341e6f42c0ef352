// Finds out in another process whether an LMDB file can be used, and sets a broken one aside. A file is never opened here before
// it is checked, and never deleted.

import { type ChildProcess, execFile } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../errors.js';
import { reserveLockFile } from './lock-file.js';

export const MISSING = 'it is missing';

/** Exit code of a verifier for a broken file. Any other end says nothing about the file. */
export const BROKEN_EXIT_CODE = 65;
/** Exit code when it could not check the file; its last line has the reason. */
export const UNKNOWN_EXIT_CODE = 74;
/** Signals of a process that reads a broken file. Any other signal says nothing about the file. */
const CRASHES: readonly unknown[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP'];
/** Output of a process that crashes for lack of memory, which is not the file's fault. */
const NO_MEMORY = /out of memory|\bOOM\b|allocation failed|bad_alloc/i;
const run = promisify(execFile);

/** How {@link faultOf} reads the file. */
export interface Examination {
  /** Ends it. */
  stopping?: AbortSignal | undefined;
  /** Which part to read, for the verifier. Default: everything. */
  scope?: string;
  /**
   * This process has the file open. It must not write before `onOpen`: when another process opens an LMDB file during a
   * commit, that commit may be taken back (docs/decisions/0074-nobody-opens-a-file-during-a-commit.md).
   */
  isOpen?: boolean;
  /** The verifier has opened the file. Not called when it ends before. */
  onOpen?(): void;
}

/** The end of a process that failed. */
interface Ending {
  code: unknown;
  signal: unknown;
  stderr?: string;
}

/**
 * Why the file cannot be used, undefined when it can. @param verifier a script that reads it in another process.
 * @throws Error when it could not be checked.
 */
export async function faultOf(
  path: string,
  verifier: string,
  { stopping, scope = 'all', isOpen = false, onOpen }: Examination = {},
): Promise<string | undefined> {
  const size = sizeOf(path);
  if (size === undefined) return MISSING;
  if (size === 0) return 'it is empty';
  // Otherwise a full disk would crash the verifier as a broken file does.
  if (!isOpen) reserveLockFile(path);
  const checking = run(process.execPath, [verifier, path, scope], {
    ...(stopping && { signal: stopping }),
  });
  // The first thing that a verifier writes.
  if (onOpen) checking.child.stdout?.once('data', onOpen);
  try {
    await checking;
    return undefined;
  } catch (thrown) {
    // After `stopping` it still runs for a moment, and would outlive this process.
    await exitOf(checking.child);
    const { code, signal, stderr = '' } = thrown as Ending;
    if (CRASHES.includes(signal)) {
      if (NO_MEMORY.test(stderr)) throw unknown('there is too little memory');
      return 'it cannot be read';
    }
    const last = stderr.trim().split('\n').at(-1);
    if (code === BROKEN_EXIT_CODE) return last || 'it cannot be read';
    throw unknown(code === UNKNOWN_EXIT_CODE && last ? last : messageOf(thrown));
  }
}

/** In bytes, undefined when there is no such file. @throws Error when it could not be checked. */
export function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}

async function exitOf(child: ChildProcess): Promise<void> {
  const isRunning = child.pid !== undefined && child.exitCode === null && child.signalCode === null;
  if (isRunning) await once(child, 'exit');
}

function unknown(why: string): Error {
  return new Error(`it could not be checked: ${why}`);
}

/** @returns what was done, for a message. */
export function setAside(path: string): string {
  const aside = `${path}.broken-${Date.now()}`;
  renameSync(path, aside);
  return `is set aside as ${aside}`;
}
