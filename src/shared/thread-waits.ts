// How long a thread has run, and how long it was ready to run and had no processor. Linux says it; elsewhere it is not known.

import { readFileSync, readlinkSync } from 'node:fs';

/** The system's id of this thread; 0 where that is not known. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

/** Since the start of the thread, in ms. */
export interface ThreadTimes {
  /** Time with a processor. */
  ranMs: number;
  /** Time ready to run, without a processor. */
  waitedMs: number;
}

/** Null where that is not known. @param thread as {@link ownThread} says, of this process or of another one. */
export function threadTimes(thread: number, pid: number | 'self' = 'self'): ThreadTimes | null {
  try {
    // The file has both times in ns, then the number of slices.
    const text = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8');
    const [ranMs = 0, waitedMs = 0] = text.split(' ').map((time) => Number(time) / 1e6);
    return { ranMs, waitedMs };
  } catch {
    return null;
  }
}

/** How long it had no processor since its start, in ms; 0 where that is not known. */
export function threadWaitMs(thread: number, pid: number | 'self' = 'self'): number {
  return threadTimes(thread, pid)?.waitedMs ?? 0;
}
