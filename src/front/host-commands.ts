// Runs in a front thread. Owns the channels to the bot hosts, and the commands that wait for their outcomes.

import type { MessagePort } from 'node:worker_threads';
import {
  type CommandList,
  type CommandMessage,
  type CommandOutcome,
  clientGone,
  eachOutcome,
  noAnswer,
  type OutcomeList,
} from '../shared/contract/command-messages.js';
import type { JsonObject } from '../shared/contract/json.js';
import type { ControlMethods } from '../shared/contract/threads.js';
import { Deadlines } from '../shared/deadlines.js';
import { DroverError } from '../shared/errors.js';
import type { Exchange } from './engine/engine.js';

/** How much longer than the host the front waits, in ms. */
const LATE_MS = 100;
/** `Retry-After` of a command above the bound, in s. */
const RETRY_AFTER_S = 1;

/** A command for one bot. */
export interface BotCommand {
  bot: string;
  command: string;
  args: JsonObject;
}

export interface HostCommandsOptions {
  /** Asks main for a channel to this host. */
  connect: (host: number) => Promise<MessagePort>;
  /** Tells main of a command that failed, for the stream: its host is lost, or did not run it. */
  failed: (failure: Parameters<ControlMethods['commandFailed']>[0]) => void;
  /** How long a command may take, in ms. */
  timeoutMs: number;
  /** Commands of one host that may wait. Another is refused. */
  maxWaiting: number;
}

export class HostCommands {
  readonly #options: HostCommandsOptions;
  readonly #deadlines: Deadlines<WaitingCommand>;
  /** By the host's number; null while main is asked. */
  readonly #channels = new Map<number, HostChannel | null>();
  #isDetached = false;

  constructor(options: HostCommandsOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    this.#deadlines = new Deadlines(timeoutMs + LATE_MS, (waiting) =>
      waiting.giveUp(noAnswer(waiting.command, timeoutMs)),
    );
  }

  /**
   * Has a host run the command. The outcome is on its way to the stream when this resolves or rejects.
   * @returns a promise of the result as JSON, or of null: the bot does not run there, and main has to be asked. Null at once when
   * there is no channel to that host yet.
   * @throws DroverError (the promise) as documented for `POST /invoke`; `overloaded`.
   */
  run(
    host: number,
    command: BotCommand,
    exchange: Pick<Exchange, 'onGone'>,
  ): Promise<string | null> | null {
    const channel = this.#channels.get(host);
    if (channel) return channel.run(command, exchange);
    if (channel === undefined) void this.#connect(host);
    return null;
  }

  /** A host ends or is lost, and another may get its number. */
  detachHost(host: number): void {
    const channel = this.#channels.get(host);
    if (!channel) return;
    this.#channels.delete(host);
    channel.close();
    channel.lost();
  }

  /** Closes all channels. */
  detach(): void {
    this.#isDetached = true;
    this.#deadlines.clear();
    for (const channel of this.#channels.values()) channel?.close();
    this.#channels.clear();
  }

  async #connect(host: number): Promise<void> {
    this.#channels.set(host, null);
    try {
      const port = await this.#options.connect(host);
      if (this.#isDetached) return port.close();
      const channel = new HostChannel(host, port, this.#options, this.#deadlines);
      this.#channels.set(host, channel);
      // Main tells of each host that ends, but a command must not wait for that.
      port.once('close', () => {
        // After detach() the hosts see this front's end, and say what became of its commands.
        if (this.#isDetached) return;
        if (this.#channels.get(host) === channel) this.#channels.delete(host);
        channel.lost();
      });
    } catch {
      // It is asked again for the next command; this one has gone to main.
      this.#channels.delete(host);
    }
  }
}

/**
 * One command without an outcome. Its client may have got an error already; it waits nevertheless, because only the host knows
 * whether it puts the outcome on the stream.
 */
class WaitingCommand {
  readonly id: number;
  readonly bot: string;
  readonly command: string;
  readonly #resolve: (result: string | null) => void;
  readonly #reject: (error: DroverError) => void;
  /** What its client got. */
  error: DroverError | undefined;

  constructor(
    id: number,
    { bot, command }: BotCommand,
    resolve: (result: string | null) => void,
    reject: (error: DroverError) => void,
  ) {
    this.id = id;
    this.bot = bot;
    this.command = command;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  giveUp(error: DroverError): void {
    this.error ??= error;
    this.#reject(this.error);
  }

  settle(outcome: CommandOutcome | null): void {
    if (outcome instanceof DroverError) this.#reject(outcome);
    else this.#resolve(outcome);
  }
}

class HostChannel {
  readonly #host: number;
  readonly #port: MessagePort;
  readonly #options: HostCommandsOptions;
  readonly #deadlines: Deadlines<WaitingCommand>;
  /** Bounded by `maxWaiting`: this bounds the messages that wait in the port too, and the host's work for this front. */
  readonly #waiting = new Map<number, WaitingCommand>();
  #lastId = 0;
  #outgoing: CommandList = [];
  #scheduled = false;

  constructor(
    host: number,
    port: MessagePort,
    options: HostCommandsOptions,
    deadlines: Deadlines<WaitingCommand>,
  ) {
    this.#host = host;
    this.#port = port;
    this.#options = options;
    this.#deadlines = deadlines;
    port.on('message', (list: OutcomeList) =>
      eachOutcome(list, (id, outcome) => this.#settle(id, outcome)),
    );
  }

  run(command: BotCommand, exchange: Pick<Exchange, 'onGone'>): Promise<string | null> {
    if (this.#waiting.size >= this.#options.maxWaiting) {
      return Promise.reject(new DroverError('overloaded', undefined, RETRY_AFTER_S));
    }
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const waiting = new WaitingCommand(this.#lastId, command, resolve, reject);
      this.#waiting.set(waiting.id, waiting);
      this.#deadlines.add(waiting);
      this.#outgoing.push(waiting.id, command.bot, command.command, JSON.stringify(command.args));
      this.#sendSoon();
      exchange.onGone(() => this.#cancel(waiting));
    });
  }

  /** The host has ended, and with it the bots that ran these commands. */
  lost(): void {
    const lost = new DroverError('unavailable', `bot host ${this.#host} was lost`);
    for (const waiting of this.#waiting.values()) {
      this.#deadlines.remove(waiting);
      waiting.giveUp(lost);
      this.#report(waiting);
    }
    this.#waiting.clear();
  }

  close(): void {
    this.#port.close();
  }

  #settle(id: number, outcome: CommandOutcome | null): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    this.#waiting.delete(id);
    this.#deadlines.remove(waiting);
    // Its client has got an error, and no host has run it.
    if (outcome === null && waiting.error) this.#report(waiting);
    waiting.settle(outcome);
  }

  #report({ bot, command, error }: WaitingCommand): void {
    if (error) this.#options.failed({ bot, command, reason: error.message });
  }

  #cancel(waiting: WaitingCommand): void {
    if (!this.#waiting.has(waiting.id)) return;
    this.#deadlines.remove(waiting);
    waiting.giveUp(clientGone());
    // After the command itself.
    this.#send();
    this.#post({ type: 'cancel', id: waiting.id });
  }

  /** Commands of one turn leave together: each message wakes the host. */
  #sendSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#outgoing.length === 0) return;
    const commands = this.#outgoing;
    this.#outgoing = [];
    this.#post({ type: 'run', sentAt: process.uptime(), commands });
  }

  #post(message: CommandMessage): void {
    this.#port.postMessage(message);
  }
}
