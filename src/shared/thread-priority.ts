// Runs in any worker thread. Owns which threads the system prefers when there are fewer cores than work.

import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename } from 'node:path';

/** A third of the share that a thread of the ordinary priority gets of a core that both want. */
const YIELDING = 5;

/**
 * The calling thread lets the others of the machine go first. On Linux, where each thread has a priority of its own;
 * elsewhere it would be that of the whole process, so nothing happens there. It cannot be taken back without privileges.
 */
export function letOthersGoFirst(): void {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Number(basename(readlinkSync('/proc/thread-self'))), YIELDING);
  } catch {
    // A system without /proc, or one that forbids it: it is fair then, as without this.
  }
}
