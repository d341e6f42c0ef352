import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** A nice value: a third of the CPU time of a thread with the default priority, when both compete for a core. */
const YIELDING = 5;

/**
 * Lowers the priority of the calling thread. On Linux only, where each thread has its own priority; elsewhere it would be
 * that of the whole process. It cannot be undone without privileges.
 */
export function letOthersGoFirst(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), YIELDING);
  } catch {
    // No /proc, or not permitted: the priority stays as it is.
  }
}
