// Runs in a bot host thread, before any kind is loaded. What one kind replaces in its thread is replaced for every bot of the host,
// and for the host's own code. So what both need cannot be replaced; who tries gets a TypeError, in the line that does it.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Of the built-ins, what a wrong replacement of breaks every bot: the clock, JSON, timers. */
const FIXED: readonly (readonly [object, readonly string[]])[] = [
  [Date, ['now']],
  [JSON, ['parse', 'stringify']],
  [performance, ['now']],
  [
    globalThis,
    [
      'Date',
      'JSON',
      'clearImmediate',
      'clearInterval',
      'clearTimeout',
      'performance',
      'queueMicrotask',
      'setImmediate',
      'setInterval',
      'setTimeout',
    ],
  ],
];

/** Makes {@link FIXED} read-only in this thread. */
export function fixGlobals(): void {
  for (const [owner, names] of FIXED) {
    for (const name of names) {
      // Some are getters at first.
      const value: unknown = Reflect.get(owner, name);
      const { enumerable = false } = Reflect.getOwnPropertyDescriptor(owner, name) ?? {};
      Object.defineProperty(owner, name, {
        value,
        enumerable,
        writable: false,
        configurable: false,
      });
    }
  }
}

type Listener = (...args: unknown[]) => void;

/** Adds listeners to `process` that bots' code cannot remove: without them, the next uncaught error would end the host. */
export function keepListeners(listeners: Readonly<Record<string, Listener>>): void {
  const { removeAllListeners, removeListener } = process;
  const addMissing = (): void => {
    for (const [event, listener] of Object.entries(listeners)) {
      if (!process.listeners(event as NodeJS.Signals).includes(listener)) {
        process.prependListener(event as NodeJS.Signals, listener);
      }
    }
  };
  addMissing();
  process.removeAllListeners = (...args) => {
    removeAllListeners.apply(process, args);
    addMissing();
    return process;
  };
  process.removeListener = (...args) => {
    removeListener.apply(process, args);
    addMissing();
    return process;
  };
  process.off = process.removeListener;
}

/** Lets a bot end itself and other processes only: this process is that of all bots, and of the service. */
export function forbidEnd(): void {
  process.exit = () => {
    // It would end the thread, and with it every bot of the host.
    throw new Error(
      'a bot must not call process.exit(); its run ends when run() returns or throws',
    );
  };
  const { kill } = process;
  process.kill = (pid, signal) => {
    // 0 and negative numbers are process groups, and this process may be in them. Signal 0 only asks whether there is one.
    if (signal !== 0 && (pid === process.pid || pid <= 0)) {
      throw new Error(`a bot must not send signals to the service (process.kill(${pid}))`);
    }
    return kill.call(process, pid, signal);
  };
}

/**
 * Lets bots close files that they have opened: any other number may be a file or connection of the
 * service, or of another host.
 * @param files other than Node's module for tests.
 */
export function guardDescriptors(files = fs): void {
  const opened = new Set<number>();
  const { open, openSync, close, closeSync } = files;
  const refused = (fd: unknown): Error =>
    new Error(`a bot must not close a file that it has not opened (descriptor ${String(fd)})`);
  files.openSync = (...args) => {
    const fd = openSync(...args);
    opened.add(fd);
    return fd;
  };
  const openNoting = (...args: unknown[]): void => {
    const callback = args.pop() as (error: Error | null, fd: number) => void;
    const noted = (error: Error | null, fd: number): void => {
      if (!error) opened.add(fd);
      callback(error, fd);
    };
    Reflect.apply(open, files, [...args, typeof callback === 'function' ? noted : callback]);
  };
  files.open = openNoting as typeof fs.open;
  files.closeSync = (fd) => {
    if (!opened.delete(fd)) throw refused(fd);
    closeSync(fd);
  };
  const closeOwn = (fd: number, callback?: fs.NoParamCallback): void => {
    if (!opened.delete(fd)) throw refused(fd);
    if (callback) close(fd, callback);
    else close(fd);
  };
  files.close = closeOwn as typeof fs.close;
  // For those who import the functions by name.
  syncBuiltinESMExports();
}
