// Runs in main and the journal thread. Owns how it is found out whether an LMDB file can be used, and how one that cannot is
// put out of the way: never opened here before it is known, never deleted.

import { execFile } from 'node:child_process';
import { existsSync, renameSync, statSync } from 'node:fs';
import { promisify } from 'node:util';
import { messageOf } from '../errors.js';

export const MISSING = 'it is missing';

/** How a verifier ends when the file is broken. Any other end says nothing of the file. */
export const BROKEN_EXIT_CODE = 65;
/** How a process ends that reads a broken file. By another signal it was ended, which says nothing of the file. */
const CRASHES: readonly unknown[] = ['SIGSEGV', 'SIGBUS', 'SIGABRT', 'SIGILL', 'SIGFPE', 'SIGTRAP'];
const run = promisify(execFile);

/**
 * Why the file cannot be used, undefined when it can. @param verifier a script that reads it in a process of its own.
 * @throws Error when that was not found out.
 */
export async function faultOf(
  path: string,
  verifier: string,
  stopping?: AbortSignal,
): Promise<string | undefined> {
  if (!existsSync(path)) return MISSING;
  if (statSync(path).size === 0) return 'it is empty';
  try {
    await run(process.execPath, [verifier, path], { ...(stopping && { signal: stopping }) });
    return undefined;
  } catch (thrown) {
    const { code, signal, stderr } = thrown as { code: unknown; signal: unknown; stderr?: string };
    if (CRASHES.includes(signal)) return 'it cannot be read';
    if (code !== BROKEN_EXIT_CODE) {
      throw new Error(`it could not be checked: ${messageOf(thrown)}`);
    }
    return stderr?.trim().split('\n').at(-1) || 'it cannot be read';
  }
}

/** @returns what was done, for a message. */
export function setAside(path: string): string {
  const aside = `${path}.broken-${Date.now()}`;
  renameSync(path, aside);
  return `is set aside as ${aside}`;
}
