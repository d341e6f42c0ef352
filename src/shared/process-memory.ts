// Runs in main, in fronts and in bot hosts. Owns an open descriptor of /proc/self/status.

import { openSync, readFileSync, readSync } from 'node:fs';

/** Kept open: it could not be opened when the process has run out of file descriptors. */
const STATUS = openStatus();
/** The file has some 1,500 bytes. */
const text = Buffer.alloc(8192);
const ANONYMOUS = /^RssAnon:\s*(\d+) kB$/m;
const DATA = /^VmData:\s*(\d+) kB$/m;
const RESIDENT = /^VmRSS:\s*(\d+) kB$/m;

/**
 * Resident memory in bytes, on Linux without mapped files: a journal of 1 GiB is mapped as a whole, and the system reclaims
 * these pages when it needs them.
 */
export function anonymousRss(): number {
  return bytesOf(ANONYMOUS) ?? process.memoryUsage.rss();
}

/** Resident memory in bytes, with mapped files. */
export function residentMemory(): number {
  return bytesOf(RESIDENT) ?? process.memoryUsage.rss();
}

/** The memory that RLIMIT_DATA counts, in bytes; 0 where that is unknown. */
export function dataSize(): number {
  return bytesOf(DATA) ?? 0;
}

/** {@link anonymousRss} of another process; null when it is gone, and where that is unknown. */
export function memoryOf(pid: number): number | null {
  try {
    const [, kilobytes] = ANONYMOUS.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? [];
    return kilobytes === undefined ? null : Number(kilobytes) * 1024;
  } catch {
    return null;
  }
}

function openStatus(): number | undefined {
  try {
    return process.platform === 'linux' ? openSync('/proc/self/status', 'r') : undefined;
  } catch {
    // The system has no /proc.
    return undefined;
  }
}

function bytesOf(field: RegExp): number | undefined {
  if (STATUS === undefined) return undefined;
  const length = readSync(STATUS, text, 0, text.length, 0);
  const [, kilobytes] = field.exec(text.toString('latin1', 0, length)) ?? [];
  return kilobytes === undefined ? undefined : Number(kilobytes) * 1024;
}
