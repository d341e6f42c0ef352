// Runs in main. Owns how much memory the process holds.

import { readFileSync } from 'node:fs';

const ANONYMOUS = /^RssAnon:\s*(\d+) kB$/m;

/**
 * Resident memory in bytes, on Linux without what is mapped from files: of a journal of 1 GiB as much is mapped, and the
 * system takes it back when it needs it.
 */
export function ownMemory(): number {
  if (process.platform === 'linux') {
    try {
      const found = ANONYMOUS.exec(readFileSync('/proc/self/status', 'latin1'));
      if (found) return Number(found[1]) * 1024;
    } catch {
      // There is no /proc here.
    }
  }
  return process.memoryUsage.rss();
}
