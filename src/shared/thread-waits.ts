// How long a thread was ready to run and had no processor. Linux says it; elsewhere it counts as never.

import { readFileSync, readlinkSync } from 'node:fs';

/** The system's id of this thread; 0 where that is not known. */
export function ownThread(): number {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1)) || 0;
  } catch {
    return 0;
  }
}

/** Since its start, in ms. @param thread of this process, as {@link ownThread} says. */
export function threadWaitMs(thread: number): number {
  try {
    // Time with a processor and time without, in ns; then the number of slices.
    const [, waited] = readFileSync(`/proc/self/task/${thread}/schedstat`, 'utf8').split(' ');
    return Number(waited) / 1e6 || 0;
  } catch {
    return 0;
  }
}
