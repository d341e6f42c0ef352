// The part of irc-framework 4.14 that the irc kind uses. The package has no types.

declare module 'irc-framework' {
  import type { EventEmitter } from 'node:events';

  /** A parsed line. */
  export interface IrcMessage {
    /** In upper case, or three digits. */
    command: string;
    params: string[];
    /** Of the sender; empty when it is the server. */
    nick: string;
    hostname: string;
  }

  /** Emits `open`, `line` (text) and `close` (an Error or false). */
  export interface Transport extends EventEmitter {
    connect(): void;
    writeLine(line: string, sent?: () => void): void;
    close(force: boolean): void;
    disposeSocket(): void;
    setEncoding(encoding: string): boolean;
  }

  export interface ConnectOptions {
    transport: new () => Transport;
    host: string;
    port: number;
    nick: string;
    username: string;
    gecos: string;
    password: string | undefined;
    /** For SASL PLAIN; empty for none. If undefined, the server's password would be used for SASL too. */
    account: { account?: string; password?: string };
    auto_reconnect: boolean;
    /** Reply to a CTCP VERSION; empty for none. */
    version: string;
  }

  export interface ChatEvent {
    nick: string;
    hostname: string;
    target: string;
    message: string;
  }

  export class Client {
    readonly user: { nick: string };
    readonly network: { server: string; isChannelName(name: string): boolean };
    readonly connection: {
      on(event: 'message', listener: (message: IrcMessage) => void): void;
      /** Closes at once, clears its timers. */
      end(): void;
    };
    connect(options: ConnectOptions): void;
    raw(...words: string[]): void;
    say(target: string, text: string): void;
    join(channel: string): void;
    part(channel: string, reason?: string): void;
    changeNick(nick: string): void;
    /** Sends QUIT and closes. */
    quit(reason: string): void;
    caseCompare(a: string, b: string): boolean;
    caseLower(text: string): string;
    on(event: 'socket connected' | 'registered' | 'ping timeout', listener: () => void): void;
    on(event: 'socket close', listener: (error: Error | false) => void): void;
    on(event: 'sasl failed', listener: (event: { reason: string }) => void): void;
    on(event: 'privmsg' | 'notice' | 'action', listener: (event: ChatEvent) => void): void;
    removeAllListeners(): void;
  }

  const framework: { Client: typeof Client };
  export default framework;
}
