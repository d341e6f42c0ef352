// Test harness of the IRC tests. Owns a user of an IRC server: a plain socket and the received lines.

import { once } from 'node:events';
import net from 'node:net';
import { createInterface } from 'node:readline';

const LIMIT_MS = 10_000;

export class IrcUser {
  readonly lines: string[] = [];
  readonly #socket: net.Socket;
  readonly #checks = new Set<() => void>();

  private constructor(socket: net.Socket) {
    this.#socket = socket;
    socket.on('error', () => {});
    createInterface({ input: socket }).on('line', (line) => {
      if (line.startsWith('PING ')) this.send(line.replace('PING', 'PONG'));
      this.lines.push(line);
      for (const check of this.#checks) check();
    });
  }

  /** Connects, registers and joins. */
  static async join(port: number, nick: string, channel: string): Promise<IrcUser> {
    const socket = net.connect({ port, host: '127.0.0.1' });
    await once(socket, 'connect');
    const user = new IrcUser(socket);
    user.send(`NICK ${nick}`);
    user.send(`USER ${nick} 0 * :a user`);
    await user.waitFor(/^\S+ 001 /);
    user.send(`JOIN ${channel}`);
    await user.waitFor(/^\S+ 366 /);
    return user;
  }

  send(line: string): void {
    this.#socket.write(`${line}\r\n`);
  }

  /** The first matching line, earlier ones included. */
  waitFor(what: RegExp): Promise<string> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        const found = this.lines.find((line) => what.test(line));
        if (found === undefined) return;
        clearTimeout(timer);
        this.#checks.delete(check);
        resolve(found);
      };
      const timer = setTimeout(() => {
        this.#checks.delete(check);
        reject(new Error(`no line ${what} in time:\n${this.lines.join('\n')}`));
      }, LIMIT_MS);
      this.#checks.add(check);
      check();
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}
