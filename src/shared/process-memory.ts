// Runs in main and in fronts. Owns how much memory the process holds.

import { openSync, readSync } from 'node:fs';

/** Kept open: when the files of the process have run out it cannot be opened, and that is no time to end for it. */
const STATUS = openStatus();
/** It has some 1,500 bytes. */
const text = Buffer.alloc(8192);
const ANONYMOUS = /^RssAnon:\s*(\d+) kB$/m;
const RESIDENT = /^VmRSS:\s*(\d+) kB$/m;

/**
 * Resident memory in bytes, on Linux without what is mapped from files: of a journal of 1 GiB as much is mapped, and the
 * system takes it back when it needs it.
 */
export function anonymousRss(): number {
  return bytesOf(ANONYMOUS) ?? process.memoryUsage.rss();
}

/** Resident memory in bytes, with what is mapped from files. */
export function residentMemory(): number {
  return bytesOf(RESIDENT) ?? process.memoryUsage.rss();
}

function openStatus(): number | undefined {
  try {
    return process.platform === 'linux' ? openSync('/proc/self/status', 'r') : undefined;
  } catch {
    // There is no /proc here.
    return undefined;
  }
}

function bytesOf(field: RegExp): number | undefined {
  if (STATUS === undefined) return undefined;
  const length = readSync(STATUS, text, 0, text.length, 0);
  const [, kilobytes] = field.exec(text.toString('latin1', 0, length)) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
