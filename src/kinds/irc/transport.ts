// Runs in bot hosts. Owns one connection to a server, as a `transport` of irc-framework. It replaces irc-framework's
// transport: the connection ends with the bot, input is bounded, and a line on which irc-framework throws ends the
// connection and not the thread.

import { EventEmitter } from 'node:events';
import { isIP } from 'node:net';
import type { Transport } from 'irc-framework';
import type { BotContext, TcpConnection } from '../../bot-sdk/index.js';
import { LineSplitter } from '../../bot-sdk/line-splitter.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { SendPace } from './send-pace.js';
import { shownLine } from './shown-line.js';

/** Longest line in bytes. IRC has 512, and 8,191 more for tags. */
const MAX_LINE_BYTES = 16_384;
/** Connect timeout, in ms. */
const CONNECT_MS = 30_000;

/** The part of a bot's context that a connection needs. */
export type Life = Omit<BotContext, 'config' | 'state'>;

export interface Server {
  host: string;
  port: number;
  tls: boolean;
  tlsVerify: boolean;
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
    // PONG keeps the connection and QUIT ends it, so neither waits behind the bot's lines.
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

  #connect(): Promise<TcpConnection> {
    const { host, port, tls, tlsVerify } = this.#server;
    const connecting = this.#ctx.connectTcp(
      // SNI takes names only, no addresses (RFC 6066, section 3).
      {
        host,
        port,
        tls: tls && { servername: isIP(host) ? '' : host, rejectUnauthorized: tlsVerify },
      },
      // The lines are logged, not the chunks.
      () => null,
    );
    // A connection that comes too late is closed.
    connecting.then((connection) => this.#closed && connection.close()).catch(() => {});
    return withTimeout(connecting, CONNECT_MS, () => {
      this.#closed = true;
      throw new Error(`no connection within ${CONNECT_MS / 1000} s`);
    });
  }

  #send(line: string): void {
    this.#show('outgoing', line);
    // A failure also ends the read loop, which reports it.
    this.#connection?.send(`${line}\r\n`).catch(() => {});
  }

  #show(direction: 'outgoing' | 'incoming', line: string): void {
    this.#ctx.log.scope('tcp').wire('tcp', direction, shownLine(line));
  }
}
