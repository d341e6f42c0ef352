// Runs in bot hosts. Owns one connection to a server, as irc-framework wants its `transport`.
//
// It replaces irc-framework's own, so that the connection dies with the bot, what comes in is bounded, and a line on
// which irc-framework fails ends the connection and not the thread.

import { EventEmitter } from 'node:events';
import { isIP } from 'node:net';
import type { Transport } from 'irc-framework';
import type { BotContext, TcpConnection } from '../../bot-sdk/index.js';
import { LineSplitter } from '../../bot-sdk/line-splitter.js';
import { SendPace } from './send-pace.js';
import { shownLine } from './shown-line.js';

/** Longest line in bytes. IRC has 512, and 8,191 more for tags. */
const MAX_LINE_BYTES = 16_384;
/** How long a connection may take to be made, in ms. */
const CONNECT_MS = 30_000;

/** What of a bot's context a connection needs. */
export type Life = Omit<BotContext, 'config' | 'state'>;

export interface Server {
  host: string;
  port: number;
  tls: boolean;
  tlsVerify: boolean;
  /** Not to be seen in any line. */
  secrets: string[];
}

export class IrcTransport extends EventEmitter implements Transport {
  readonly #ctx: Life;
  readonly #server: Server;
  readonly pace: SendPace;
  #connection: TcpConnection | undefined;
  #closed = false;

  constructor(ctx: Life, server: Server) {
    super();
    this.#ctx = ctx;
    this.#server = server;
    this.pace = new SendPace(ctx.after.bind(ctx), (line) => this.#send(line));
  }

  connect(): void {
    void this.#live();
  }

  writeLine(line: string, sent?: () => void): void {
    // What keeps the connection, and what ends it, does not wait behind what the bot has to say.
    if (/^(?:PONG|QUIT)\b/.test(line)) this.#send(line);
    else this.pace.add(line);
    if (sent) queueMicrotask(sent);
  }

  close(): void {
    this.#closed = true;
    this.pace.stop();
    this.#connection?.close();
  }

  disposeSocket(): void {
    this.close();
  }

  /** Always UTF-8. */
  setEncoding(): boolean {
    return true;
  }

  async #live(): Promise<void> {
    let failure: Error | false = false;
    try {
      const connection = await this.#connect();
      this.#connection = connection;
      if (this.#closed) throw new Error('the connection was closed');
      this.emit('open');
      const lines = new LineSplitter(MAX_LINE_BYTES);
      for await (const chunk of connection) {
        for (const line of lines.push(chunk)) {
          if (this.#closed) break;
          this.#show('incoming', line);
          this.emit('line', line);
        }
      }
    } catch (thrown) {
      failure = thrown instanceof Error ? thrown : new Error(String(thrown));
    }
    this.close();
    this.emit('close', failure);
  }

  async #connect(): Promise<TcpConnection> {
    const { host, port, tls, tlsVerify } = this.#server;
    const connecting = this.#ctx.connectTcp(
      // An address is no name that a server could be asked for (RFC 6066, section 3).
      {
        host,
        port,
        tls: tls && { servername: isIP(host) ? '' : host, rejectUnauthorized: tlsVerify },
      },
      // Lines are shown, not the pieces in which they come.
      () => null,
    );
    let cancel = (): void => {};
    const late = new Promise<never>((_, reject) => {
      cancel = this.#ctx.after(CONNECT_MS, () => {
        this.#closed = true;
        reject(new Error(`no connection within ${CONNECT_MS / 1000} s`));
      });
    });
    // When it comes after all, nobody wants it any more.
    connecting.then((connection) => this.#closed && connection.close()).catch(() => {});
    return Promise.race([connecting, late]).finally(() => cancel());
  }

  #send(line: string): void {
    this.#show('outgoing', line);
    // A failure also ends the reading, which tells.
    this.#connection?.send(`${line}\r\n`).catch(() => {});
  }

  #show(direction: 'outgoing' | 'incoming', line: string): void {
    const { secrets } = this.#server;
    this.#ctx.log.scope('tcp').wire('tcp', direction, shownLine(line, secrets));
  }
}
