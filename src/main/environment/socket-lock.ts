// Runs in main. The lock of a data directory on Linux, where Node can lock no file: a Unix socket in the directory, named
// `lock.<number>`. As long as it accepts connections its process lives; the kernel closes it when the process ends, and its
// file stays. The next process takes the next number. See docs/decisions/0009 for why no two can have the lock.

import { randomBytes } from 'node:crypto';
import { closeSync, constants, linkSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { hostname } from 'node:os';

/** How long the holder of the lock may take to answer, in ms. */
const ANSWER_MS = 1000;
const PREFIX = 'lock.';
/** The name of a lock's socket: a number, or a draft. */
const NAME = /^lock\.(\d{1,15}|[0-9a-f]{16}\.tmp)$/;
/** The process id and the name of its machine, or of its container. */
const ANSWER = /^(\d+) (\S+)$/;

/** The lock, with what gives it back before the process ends, or who has it: undefined when that is not known (yet). */
export type LockAttempt = { release: () => void } | { holder: string | undefined };

/** A process that has the lock and does not say which one it is. */
export const UNKNOWN_HOLDER = 'another process';

/** The lock is free: its process has ended, or there was none yet. */
const FREE = Symbol('free');

export async function trySocketLock(dir: string): Promise<LockAttempt> {
  const sockets = new LockSockets(dir);
  try {
    const last = sockets.last();
    const holder = last === 0 ? FREE : await sockets.ask(last);
    if (holder !== FREE) return { holder };
    const server = await sockets.claim(last + 1);
    // Another process was faster; the next attempt finds out who.
    return server ? { release: () => server.close() } : { holder: undefined };
  } finally {
    sockets.close();
  }
}

/** The process that has the lock; undefined for none. */
export async function socketHolder(dir: string): Promise<string | undefined> {
  const sockets = new LockSockets(dir);
  try {
    const last = sockets.last();
    const holder = last === 0 ? FREE : await sockets.ask(last);
    return holder === FREE ? undefined : (holder ?? UNKNOWN_HOLDER);
  } finally {
    sockets.close();
  }
}

/** The sockets in a directory. They are reached through its descriptor: a Unix socket's path has 107 bytes at most. */
export class LockSockets {
  readonly #dir: number;

  constructor(dir: string) {
    this.#dir = openSync(dir, constants.O_RDONLY | constants.O_DIRECTORY);
  }

  close(): void {
    closeSync(this.#dir);
  }

  /** The highest number that was ever taken; 0 for none. */
  last(): number {
    return Math.max(0, ...this.#names().map(numberOf));
  }

  /** FREE when the process has ended, otherwise its name; undefined when it does not answer, because it may be ending. */
  ask(number: number): Promise<string | undefined | typeof FREE> {
    return new Promise((resolve, reject) => {
      let text = '';
      const socket = connect(this.#path(PREFIX + number));
      socket.setTimeout(ANSWER_MS, () => socket.destroy());
      socket.on('data', (part) => {
        text += part;
      });
      socket.on('error', ({ code, message }: NodeJS.ErrnoException) => {
        if (code === 'ECONNREFUSED' || code === 'ENOENT') resolve(FREE);
        else if (code === 'EACCES') reject(new Error(message));
      });
      socket.on('close', () => resolve(holderOf(text)));
    });
  }

  /** @returns the socket that holds the lock; undefined when another process has taken this number or a higher one. */
  async claim(number: number): Promise<Server | undefined> {
    const name = PREFIX + number;
    // The socket is renamed to its number once it listens. So a number that refuses connections belongs to a process that has ended.
    const draft = `${PREFIX}${randomBytes(8).toString('hex')}.tmp`;
    const server = await listen(this.#path(draft));
    try {
      linkSync(this.#path(draft), this.#path(name));
      // This process may have looked long ago: numbers that were free then may be gone, and taken again by mistake.
      if (this.last() === number) {
        for (const other of this.#names()) if (other !== name) this.#remove(other);
        return server;
      }
      this.#remove(name);
    } catch (thrown) {
      // Taken, or the draft was removed by the process that has taken it.
      const { code } = thrown as NodeJS.ErrnoException;
      if (code !== 'EEXIST' && code !== 'ENOENT') {
        server.close();
        throw thrown;
      }
    } finally {
      this.#remove(draft);
    }
    server.close();
    return undefined;
  }

  #names(): string[] {
    return readdirSync(this.#path('.')).filter((name) => NAME.test(name));
  }

  #remove(name: string): void {
    rmSync(this.#path(name), { force: true });
  }

  #path(name: string): string {
    return `/proc/self/fd/${this.#dir}/${name}`;
  }
}

/** The number of a socket; 0 for a draft. */
function numberOf(name: string): number {
  const number = name.slice(PREFIX.length);
  return /^\d{1,15}$/.test(number) ? Number(number) : 0;
}

function holderOf(answer: string): string | undefined {
  const [, pid, host] = ANSWER.exec(answer) ?? [];
  if (pid === undefined) return undefined;
  return host === hostname() ? `process ${pid}` : `process ${pid} on ${host}`;
}

function listen(path: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(`${process.pid} ${hostname()}`, () => socket.destroy());
    });
    server.on('error', reject);
    server.listen(path, () => resolve(server));
    // The lock must not keep the process alive.
    server.unref();
  });
}
