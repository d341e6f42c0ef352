// Runs in main. Owns the lock that keeps a data directory to one service. It is a local name of the kernel's, bound for
// as long as the process lives and released by the kernel when it ends, by kill -9 too: there is no stale lock and
// nothing to clean up. Who holds it answers with its process id. No client can reach it. docs/decisions/0009.

import { constants, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, StartupError } from '../shared/errors.js';

/** How long a process that has been killed may take to let go of what it had, in ms. Until then it answers nothing. */
const DYING_MS = 3000;
/** How long whoever holds the lock may take to answer, in ms. */
const ANSWER_MS = 1000;
const AGAIN_MS = 25;
/** O_EXLOCK of macOS and the BSDs: open(2) with a lock. Node names only the flags that all systems have. */
const OPEN_EXCLUSIVE = 0x20;

/**
 * Takes the directory for this process until it ends.
 * @throws StartupError when another process has it.
 */
export async function lockDataDir(dir: string): Promise<void> {
  const deadline = performance.now() + DYING_MS;
  for (;;) {
    const name = lockName(dir);
    try {
      if (name === undefined ? lockFile(dir) : await bind(name)) return;
    } catch (thrown) {
      throw new StartupError(`the data directory ${dir} cannot be locked: ${messageOf(thrown)}`);
    }
    const holder = name === undefined ? pidIn(dir) : await ask(name);
    if (holder !== undefined || performance.now() > deadline) {
      throw new StartupError(
        `the data directory ${dir} is in use by ${holder === undefined ? 'another process' : `process ${holder}`}; ` +
          'stop that one, or give another directory with --data-dir',
      );
    }
    await delay(AGAIN_MS);
  }
}

/** By what the directory is and not by its path, of which it may have several. Undefined where there are no such names. */
function lockName(dir: string): string | undefined {
  const { dev, ino } = statSync(dir, { bigint: true });
  const name = `drover-data-${dev}-${ino}`;
  // An abstract Unix socket; a named pipe.
  if (process.platform === 'linux') return `\0${name}`;
  if (process.platform === 'win32') return `\\\\.\\pipe\\${name}`;
  return undefined;
}

/** @returns false when another process has the name. */
function bind(name: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(String(process.pid));
    });
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false);
      else reject(error);
    });
    server.listen(name, () => resolve(true));
    // The lock is no reason for the process to live.
    server.unref();
  });
}

/** The process that has the name; undefined when it does not say, which a dying one does not. */
function ask(name: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(name).setTimeout(ANSWER_MS, () => socket.destroy());
    socket.on('data', (part) => {
      text += part;
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(/^\d+$/.test(text) ? Number(text) : undefined));
  });
}

const fileIn = (dir: string): string => join(dir, 'lock');

/** @returns false when another process has locked the file. Its descriptor stays open until the process ends. */
function lockFile(dir: string): boolean {
  const { O_RDWR, O_CREAT, O_NONBLOCK } = constants;
  try {
    openSync(fileIn(dir), O_RDWR | O_CREAT | O_NONBLOCK | OPEN_EXCLUSIVE, 0o600);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EAGAIN') return false;
    throw thrown;
  }
  writeFileSync(fileIn(dir), String(process.pid));
  return true;
}

function pidIn(dir: string): number | undefined {
  const text = readFileSync(fileIn(dir), 'utf8');
  return /^\d+$/.test(text) ? Number(text) : undefined;
}
