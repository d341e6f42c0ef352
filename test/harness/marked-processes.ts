// Finds processes by a mark in their environment. Linux only.

import { readdirSync, readFileSync } from 'node:fs';

/** Ids of the processes whose environment has `MARK=<mark>`, zombies left out. */
export function markedProcesses(mark: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`MARK=${mark}\0`);
      } catch {
        // It has ended, or is another user's.
        return false;
      }
    });
}
