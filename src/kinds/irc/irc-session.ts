// Runs in bot hosts. Owns one connection to an IRC server: registration, the channels that the bot is in, and the commands
// that wait for the server's answer.

import type { Client, ConnectOptions, IrcMessage } from 'irc-framework';
import { BotError, type Logger } from '../../bot-sdk/index.js';
import { Deferred } from '../../shared/deferred.js';
import { registrationError } from './registration-error.js';
import { IrcTransport, type Life, type Server } from './transport.js';

/** Timeout of a command, in ms. */
const ANSWER_MS = 8000;
/** Bounds of the channels in `data`, so that it stays small. */
const MAX_SHOWN_CHANNELS = 30;
/** Channels that are known. Servers admit some hundred; one that says that the bot has joined more is not believed. */
const MAX_CHANNELS = 1000;
const MAX_SHOWN_UNITS = 64;
/** Errors of NICK that do not always name the nick. */
const NICK_ERROR = /^(?:43[1-8]|447|484)$/;

export interface Identity {
  nick: string;
  username: string;
  realname: string;
  password: string | undefined;
  sasl: { account: string; password: string } | undefined;
}

/** A command that waits for the server. */
interface Waiter {
  hear(message: IrcMessage): void;
  fail(error: Error): void;
}

interface Question {
  /** The channel or nick that the server's error would name. */
  subject: string;
  send(): void;
  /** Checked after each message of the server. */
  isDone(fence: boolean): boolean;
  isError?(command: string): boolean;
}

export class IrcSession {
  readonly #ctx: Life;
  readonly #log: Logger;
  readonly #identity: Identity;
  readonly #client: Client;
  readonly #transport: IrcTransport;
  readonly #server: Server;
  readonly #waiters = new Set<Waiter>();
  /** By name in lower case. */
  readonly #channels = new Map<string, string>();
  readonly #end = new AbortController();
  /** Resolves when the server has accepted the registration, rejects when the connection is lost first. */
  readonly #registered = new Deferred();
  readonly #lost = new Deferred<never>();
  /** The server's last ERROR. */
  #lastError: string | undefined;
  #isRegistered = false;
  #isLoggedIn = false;
  #fences = 0;

  constructor(Framework: typeof Client, ctx: Life, server: Server, identity: Identity) {
    this.#ctx = ctx;
    this.#log = ctx.log.scope('irc');
    this.#server = server;
    this.#identity = identity;
    this.#registered.promise.catch(() => {});
    this.#lost.promise.catch(() => {});
    this.#client = new Framework();
    this.#transport = new IrcTransport(ctx, server);
    this.#listen();
    // Added before the listener of the connection, which is cut by the same signal, so that QUIT is still sent.
    ctx.signal.addEventListener('abort', () => this.#client.quit('stopped'), {
      signal: this.#end.signal,
    });
  }

  /** Rejects when the connection is lost, with the reason. */
  get lost(): Promise<never> {
    return this.#lost.promise;
  }

  get isRegistered(): boolean {
    return this.#isRegistered;
  }

  get nick(): string {
    return this.#client.user.nick;
  }

  /** Connects, registers and logs in. */
  async open(): Promise<void> {
    const { nick, username, realname, password, sasl } = this.#identity;
    const transport = this.#transport;
    const options: ConnectOptions = {
      // irc-framework calls it with `new`; a function that returns an object is a constructor of that object.
      transport: function create() {
        return transport;
      } as unknown as ConnectOptions['transport'],
      host: this.#server.host,
      port: this.#server.port,
      nick,
      username,
      gecos: realname,
      password,
      account: sasl ?? {},
      // The bot reconnects, with its own limits.
      auto_reconnect: false,
      version: '',
    };
    this.#client.connect(options);
    await this.#registered.promise;
    this.#showState();
  }

  /** Ends the connection. Commands that wait fail. */
  close(): void {
    this.#lose(new Error('the connection was closed'));
    this.#end.abort();
    this.#client.removeAllListeners();
  }

  /** Resolves when the server has accepted the text without an error. */
  async say(target: string, text: string): Promise<void> {
    await this.#ask({
      subject: target,
      send: () => this.#client.say(target, text),
      isDone: (fence) => fence,
    });
  }

  async join(channel: string): Promise<void> {
    if (this.#isIn(channel)) return;
    await this.#ask({
      subject: channel,
      send: () => this.#client.join(channel),
      isDone: () => this.#isIn(channel),
    });
  }

  async part(channel: string, reason?: string): Promise<void> {
    if (!this.#isIn(channel)) throw new BotError(`not in ${channel}`);
    await this.#ask({
      subject: channel,
      send: () => this.#client.part(channel, reason),
      isDone: () => !this.#isIn(channel),
    });
  }

  async changeNick(nick: string): Promise<void> {
    if (nick === this.nick) return;
    await this.#ask({
      subject: nick,
      send: () => this.#client.changeNick(nick),
      isDone: () => this.nick === nick,
      isError: (command) => NICK_ERROR.test(command),
    });
  }

  /**
   * Sends a command and a PING after it. Servers answer in order, so an error comes before the PONG (the fence), and a
   * command without an error before the PONG has succeeded.
   */
  #ask({ subject, send, isDone, isError = () => false }: Question): Promise<void> {
    if (!this.#isRegistered) throw new BotError('not connected to the server');
    if (!this.#transport.pace.hasRoom) throw new BotError('too many lines wait to be sent');
    const fence = `drover-${++this.#fences}`;
    return new Promise((resolve, reject) => {
      const settle = (): void => {
        this.#waiters.delete(waiter);
        cancel();
      };
      const waiter: Waiter = {
        hear: ({ command, params }) => {
          const isAbout = (word: string): boolean => this.#client.caseCompare(word, subject);
          const hasFailed =
            /^[45]\d\d$/.test(command) && (params.slice(1, -1).some(isAbout) || isError(command));
          if (hasFailed) waiter.fail(new BotError(`${params.at(-1)} (${command})`));
          else if (isDone(command === 'PONG' && params.at(-1) === fence)) {
            settle();
            resolve();
          }
        },
        fail: (error) => {
          settle();
          reject(error);
        },
      };
      const cancel = this.#ctx.after(ANSWER_MS, () =>
        waiter.fail(new BotError(`the server did not answer within ${ANSWER_MS / 1000} s`)),
      );
      this.#waiters.add(waiter);
      send();
      this.#client.raw('PING', fence);
    });
  }

  #listen(): void {
    const client = this.#client;
    client.on('socket connected', () => this.#ctx.setStatus('registering'));
    client.on('registered', () => this.#welcome());
    client.on('sasl failed', ({ reason }) => {
      if (reason === 'unsupported_mechanism') {
        this.#lose(new BotError('the server does not offer SASL PLAIN', { restart: false }));
      }
    });
    client.on('ping timeout', () => this.#lose(new Error('the server is silent')));
    client.on('socket close', (error) => {
      // It says itself whether another attempt is of use.
      if (error instanceof BotError) return this.#lose(error);
      const why = this.#lastError ?? (error ? error.message : undefined);
      this.#lose(new Error(`the connection was lost${why === undefined ? '' : `: ${why}`}`));
    });
    client.on('privmsg', (event) => this.#showChat(event.target, `<${event.nick}>`, event.message));
    client.on('action', (event) => this.#showChat(event.target, `* ${event.nick}`, event.message));
    client.on('notice', (event) => {
      this.#showChat(event.target, `-${event.nick || event.hostname}-`, event.message);
    });
    // After irc-framework's own listener: its nick is up to date.
    client.connection.on('message', (message) => this.#hear(message));
  }

  #hear(message: IrcMessage): void {
    const { command, params } = message;
    if (command === 'ERROR') this.#lastError = params.at(-1);
    if (command === '903') this.#isLoggedIn = true;
    if (!this.#isRegistered) {
      const error = registrationError(command, params);
      if (error) this.#lose(error);
    }
    const isOwn = this.#client.caseCompare(message.nick, this.nick);
    const [first = '', second = ''] = params;
    if (command === 'JOIN' && isOwn) this.#setChannel(first, true);
    if (command === 'PART' && isOwn) this.#setChannel(first, false);
    if (command === 'KICK' && this.#client.caseCompare(second, this.nick)) {
      this.#log.warn(`kicked from ${first} by ${message.nick}: ${params.at(-1)}`);
      this.#setChannel(first, false);
    }
    // irc-framework has applied the new nick by now.
    if (command === 'NICK' && this.#client.caseCompare(first, this.nick)) this.#showState();
    for (const waiter of this.#waiters) waiter.hear(message);
  }

  #welcome(): void {
    // With an account configured, the bot must not join channels without it.
    if (this.#identity.sasl && !this.#isLoggedIn) {
      this.#lose(new Error('the server offers no SASL now'));
    } else {
      this.#isRegistered = true;
      this.#registered.resolve();
    }
  }

  #lose(reason: Error): void {
    if (this.#isRegistered) {
      this.#isRegistered = false;
      this.#channels.clear();
      this.#showState();
    }
    this.#registered.reject(reason);
    this.#lost.reject(reason);
    for (const waiter of this.#waiters) waiter.fail(reason);
    this.#client.connection.end();
  }

  #isIn(channel: string): boolean {
    return this.#channels.has(this.#client.caseLower(channel));
  }

  #setChannel(name: string, isIn: boolean): void {
    const key = this.#client.caseLower(name);
    if (!isIn) this.#channels.delete(key);
    else if (this.#channels.size < MAX_CHANNELS) this.#channels.set(key, name);
    this.#showState();
  }

  #showState(): void {
    const cut = (text: string): string => text.slice(0, MAX_SHOWN_UNITS);
    this.#ctx.updateData({
      nick: cut(this.nick),
      server: cut(this.#client.network.server || this.#server.host),
      channels: [...this.#channels.values()].slice(0, MAX_SHOWN_CHANNELS).map(cut),
      channel_count: this.#channels.size,
    });
  }

  #showChat(target: string, who: string, text: string): void {
    const where = this.#client.network.isChannelName(target) ? `${target} ` : '';
    this.#log.info(`${where}${who} ${text}`);
  }
}
