// Runs in main and the journal thread. Owns how it is found out whether an LMDB file can be used, and how one that cannot is
// put out of the way: never opened here before it is known, never deleted.

import { execFile } from 'node:child_process';
import { renameSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../errors.js';
import { reserveLockFile } from './lock-file.js';

export const MISSING = 'it is missing';

/** How a verifier ends when the file is broken. Any other end says nothing of the file. */
export const BROKEN_EXIT_CODE = 65;
/** How it ends when it could not find out, with the reason as its last line. */
export const UNKNOWN_EXIT_CODE = 74;
/** How a process ends that reads a broken file. By another signal it was ended, which says nothing of the file. */
const CRASHES: readonly unknown[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP'];
/** What is printed by a process that crashes because it gets no memory: that is no fault of the file. */
const NO_MEMORY = /out of memory|\bOOM\b|allocation failed|bad_alloc/i;
const run = promisify(execFile);

/** How a process ended that did not end with 0. */
interface Ending {
  code: unknown;
  signal: unknown;
  stderr?: string;
}

/**
 * Why the file cannot be used, undefined when it can. @param verifier a script that reads it in a process of its own.
 * @param scope what of it, for the verifier. @param isOpen this process has it open with LMDB.
 * @throws Error when that was not found out.
 */
export async function faultOf(
  path: string,
  verifier: string,
  stopping?: AbortSignal,
  scope = 'all',
  isOpen = false,
): Promise<string | undefined> {
  const size = sizeOf(path);
  if (size === undefined) return MISSING;
  if (size === 0) return 'it is empty';
  // Or a full disk would end the verifier as a broken file does.
  if (!isOpen) reserveLockFile(path);
  try {
    await run(process.execPath, [verifier, path, scope], { ...(stopping && { signal: stopping }) });
    return undefined;
  } catch (thrown) {
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

/** In bytes, undefined when there is no such file. @throws Error when that was not found out. */
export function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
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
