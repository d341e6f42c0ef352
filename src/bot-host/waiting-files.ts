// Runs in a bot host thread, before any kind is loaded. Keeps bots from files whose opening or reading waits for somebody else: named
// pipes and terminals. Node waits in one of the four threads that the whole process has for that. Four such bots would stop the store
// and the journal, and nothing can end a thread that waits there.

import fs from 'node:fs';
import { currentOwner } from './current-bot.js';

type Call = (...args: unknown[]) => unknown;

/** Functions that open a file by its path. Related ones (`createReadStream`, `appendFileSync` …) call these. */
const BY_CALLBACK = ['open', 'readFile', 'copyFile'] as const;
const AT_ONCE = ['openSync', 'readFileSync', 'writeFileSync', 'copyFileSync'] as const;
const BY_PROMISE = ['open', 'readFile', 'writeFile', 'appendFile', 'truncate', 'copyFile'] as const;

/** The class of devices that never wait, on Linux: null, zero, random … */
const MEMORY_DEVICES = 1;

/** Makes these calls errors for such a file. What is opened with `O_NONBLOCK` does not wait. */
export function refuseWaitingFiles(): void {
  const { stat, statSync } = fs;
  const { stat: promiseStat } = fs.promises;
  for (const name of BY_CALLBACK) {
    const call = fs[name] as Call;
    Reflect.set(fs, name, (...args: unknown[]) => {
      const path = pathOf(args);
      const callback = args.at(-1);
      if (path === null || typeof callback !== 'function') return call(...args);
      return stat(path, (_, stats) => {
        if (stats && waits(stats)) callback(refused(path));
        else call(...args);
      });
    });
  }
  for (const name of AT_ONCE) {
    const call = fs[name] as Call;
    Reflect.set(fs, name, (...args: unknown[]) => {
      const path = pathOf(args);
      const stats = path !== null && statSync(path, { throwIfNoEntry: false });
      if (stats && waits(stats)) throw refused(path);
      return call(...args);
    });
  }
  for (const name of BY_PROMISE) {
    const call = fs.promises[name] as Call;
    Reflect.set(fs.promises, name, async (...args: unknown[]) => {
      const path = pathOf(args);
      const stats = path !== null && (await promiseStat(path).catch(() => null));
      if (stats && waits(stats)) throw refused(path);
      return call(...args);
    });
  }
}

/** The path to check. Null for calls of the host, for open files, and for opening without blocking. */
function pathOf([path, ...more]: unknown[]): fs.PathLike | null {
  if (!currentOwner()) return null;
  const isPath = typeof path === 'string' || path instanceof URL || Buffer.isBuffer(path);
  if (!isPath || more.some(isNonBlocking)) return null;
  return path;
}

function isNonBlocking(option: unknown): boolean {
  const flags = (option as { flag?: unknown } | null | undefined)?.flag ?? option;
  return typeof flags === 'number' && (flags & fs.constants.O_NONBLOCK) !== 0;
}

function waits(stats: fs.Stats): boolean {
  if (stats.isFIFO()) return true;
  if (process.platform !== 'linux' || !stats.isCharacterDevice()) return false;
  return Math.floor(stats.rdev / 256) !== MEMORY_DEVICES;
}

function refused(path: fs.PathLike): Error {
  return new Error(
    `a bot must not wait for ${path} in a thread of the service: choose "isolation: process" for it, or open it with O_NONBLOCK`,
  );
}
