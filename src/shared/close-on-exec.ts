// Runs in each thread that opens an LMDB file. Owns its way to two calls of the system that Node does not have.

import { readdirSync } from 'node:fs';
import { messageOf } from './errors.js';
import { lazy } from './lazy.js';
import { ForkGate } from './memory/fork-gate.js';
import { require } from './package-paths.js';

/** Each returns -1 when the system refuses it. */
export interface DescriptorCalls {
  /** close_range(2): Linux 5.11. */
  closeRange(first: number, last: number, flags: number): number;
  /** fcntl(2) */
  fcntl(fd: number, command: number, value: number): number;
}

type Func = (name: string, result: string, parameters: string[]) => (...args: number[]) => number;

/** The part of koffi that is used: its native module, without the package around it. */
interface Koffi {
  load(library: null): { func: Func };
}

/** Its number is the same on all processors. C libraries do not all have a function for it. */
const SYS_CLOSE_RANGE = 436;
const CLOSE_RANGE_CLOEXEC = 4;
const F_SETFD = 2;
const FD_CLOEXEC = 1;
/** The first descriptor after the standard streams. */
const FIRST = 3;
const LAST = 0xffff_ffff;

// Created in main before any other thread starts.
const gate = ForkGate.ofProcess();

const calls = lazy((): DescriptorCalls => {
  const name = `@koromix/koffi-linux-${process.arch}`;
  try {
    const libc = (require(name) as Koffi).load(null);
    const syscall = libc.func('syscall', 'long', ['long', 'uint', 'uint', 'uint']);
    return {
      closeRange: (first, last, flags) => syscall(SYS_CLOSE_RANGE, first, last, flags),
      fcntl: libc.func('fcntl', 'int', ['int', 'int', 'int']),
    };
  } catch (thrown) {
    const [why] = messageOf(thrown).split('\n');
    throw new Error(
      `${name} does not load (${why}), and without it child processes would get the files of the service; install Drover with its optional dependencies`,
    );
  }
});

/**
 * Opens something of which native code gives the descriptors to child processes, and takes them from those, with all others of
 * this process: docs/decisions/0108-children-get-no-descriptors.md. Node itself opens none like that. On Linux only: elsewhere
 * children get only what they are given.
 * @param close undoes `open`. @throws Error when the system does not allow it.
 */
export function openForThisProcess<T>(open: () => T, close: (opened: T) => void): T {
  if (process.platform !== 'linux') return open();
  // Loads the calls before anything is open, because that can fail.
  const system = calls();
  return gate.open(() => {
    const opened = open();
    try {
      closeOnExec(system);
    } catch (thrown) {
      close(opened);
      throw thrown;
    }
    return opened;
  });
}

/** All descriptors but the standard streams are closed when this process or a child of it starts a program. */
export function closeOnExec({ closeRange, fcntl }: DescriptorCalls): void {
  if (closeRange(FIRST, LAST, CLOSE_RANGE_CLOEXEC) === 0) return;
  // An older Linux, or a sandbox that does not know the call. What was closed meanwhile is no fault.
  for (const fd of readdirSync('/proc/self/fd').map(Number)) {
    if (fd >= FIRST) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
}
