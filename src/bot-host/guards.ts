// Runs in a bot host thread, before any kind is loaded. What one kind replaces in its thread is replaced for every bot of the host,
// and for the host's own code. So what both need cannot be replaced; who tries gets a TypeError, in the line that does it.

import fs from 'node:fs';
import nodeModule from 'node:module';
import v8 from 'node:v8';
import { Script } from 'node:vm';
import workerThreads from 'node:worker_threads';

/** Built-ins of the language that the host's code uses. All of their functions are fixed too. */
const LANGUAGE = [
  'Array',
  'Buffer',
  'JSON',
  'Number',
  'Object',
  'Promise',
  'Reflect',
  'String',
] as const;

/** Other built-ins of which a wrong replacement breaks every bot: the clock, promises, timers. */
const FIXED: readonly (readonly [object, readonly string[]])[] = [
  [Date, ['now']],
  [performance, ['now']],
  [process, ['nextTick']],
  [
    globalThis,
    [
      ...LANGUAGE,
      'ArrayBuffer',
      'Atomics',
      'BigInt',
      'BigInt64Array',
      'DataView',
      'Date',
      'Error',
      'Float64Array',
      'Function',
      'Int32Array',
      'Map',
      'Math',
      'Proxy',
      'RangeError',
      'RegExp',
      'Set',
      'SharedArrayBuffer',
      'Symbol',
      'SyntaxError',
      'TypeError',
      'Uint32Array',
      'Uint8Array',
      'WeakMap',
      'WeakRef',
      'WeakSet',
      'clearImmediate',
      'clearInterval',
      'clearTimeout',
      'performance',
      'process',
      'queueMicrotask',
      'setImmediate',
      'setInterval',
      'setTimeout',
    ],
  ],
];

/** Makes {@link FIXED} read-only in this thread. */
export function fixGlobals(): void {
  const language = LANGUAGE.map((name) => {
    const owner = globalThis[name];
    return [owner, functionsOf(owner)] as const;
  });
  for (const [owner, names] of [...language, ...FIXED]) {
    for (const name of names) {
      // Reads the value first, because some properties are getters.
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

function functionsOf(owner: object): string[] {
  return Object.getOwnPropertyNames(owner).filter((name) => {
    const { writable, value } = Object.getOwnPropertyDescriptor(owner, name) ?? {};
    return writable && typeof value === 'function';
  });
}

/** Calls that always concern the service, or all bots of the host, each with its name. */
const REFUSED: readonly (readonly [name: string, owner: object, method: string])[] = [
  ['v8.setFlagsFromString', v8, 'setFlagsFromString'],
  ['v8.setHeapSnapshotNearHeapLimit', v8, 'setHeapSnapshotNearHeapLimit'],
  ['module.register', nodeModule, 'register'],
  ['module.syncBuiltinESMExports', nodeModule, 'syncBuiltinESMExports'],
  ['process._debugProcess', process, '_debugProcess'],
];

/** Makes these calls errors, in the line that does it. */
export function refuseCalls(): void {
  for (const [name, owner, method] of REFUSED) Reflect.set(owner, method, refuse(name));
  // Node takes SIGINT from the service for that, and never gives it back.
  for (const name of ['runInContext', 'runInThisContext'] as const) {
    const run = Script.prototype[name] as (...args: unknown[]) => unknown;
    Reflect.set(Script.prototype, name, function (this: Script, ...args: unknown[]): unknown {
      const { breakOnSigint } = (args.at(-1) ?? {}) as { breakOnSigint?: unknown };
      return breakOnSigint
        ? refuse(`Script.${name}`, '{ breakOnSigint: true }')()
        : Reflect.apply(run, this, args);
    });
  }
  // An open inspector can make the thread wait for a debugger.
  const inspector = process.getBuiltinModule('node:inspector');
  for (const name of ['open', 'waitForDebugger']) {
    Reflect.set(inspector, name, refuse(`inspector.${name}`));
  }
  // A session is of the whole thread: it reads what other bots print and have in memory, and can end the thread.
  for (const name of ['connect', 'connectToMainThread']) {
    Reflect.set(inspector.Session.prototype, name, refuse(`Session.${name}`));
  }
}

function refuse(name: string, args = ''): () => never {
  return () => {
    throw new Error(
      `a bot must not call ${name}(${args}) in a thread of the service: choose "isolation: process" for it`,
    );
  };
}

/** Its only event reports that a buffer shared by all bots is full, in the context of the bot that filled it. */
export function muteSharedEvents(): void {
  Object.defineProperty(performance, 'dispatchEvent', { value: () => true });
}

/** The port to main, and what came with it, are the host's: bots see what they would in a main thread. */
export function hidePort(): void {
  Reflect.set(workerThreads, 'parentPort', null);
  Reflect.set(workerThreads, 'workerData', null);
}

/** Shows what was replaced to modules that import it by name. */
export const publishGuards = nodeModule.syncBuiltinESMExports;

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
}
