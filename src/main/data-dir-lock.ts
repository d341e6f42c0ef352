// Runs in main. Owns the lock that reserves a data directory for one service: a local socket name. The kernel releases it when
// the process ends, also after kill -9, so there are no stale locks. The holder answers with its process id. No client can
// reach it. See docs/decisions/0009.

import { constants, openSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, StartupError } from '../shared/errors.js';

/** How long a killed process may take to release its lock, in ms. Meanwhile it does not answer. */
const DYING_MS = 3000;
/** How long the holder of the lock may take to answer, in ms. */
const ANSWER_MS = 1000;
const RETRY_MS = 25;
/** O_EXLOCK of macOS and the BSDs: open(2) with a lock. Node has constants only for flags of all systems. */
const OPEN_EXCLUSIVE = 0x20;

/**
 * Locks the directory until this process ends.
 * @throws StartupError when another process has locked it.
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
    await delay(RETRY_MS);
  }
}

/** From the directory's inode, because a directory may have several paths. Undefined on systems without such names. */
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
    // The lock must not keep the process alive.
    server.unref();
  });
}

/** The id of the process that has the name; undefined when it does not answer because it is exiting. */
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
