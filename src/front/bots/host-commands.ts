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
  TAKEN,
} from '../../shared/contract/command-messages.js';
import type { JsonObject } from '../../shared/contract/json.js';
import type { ControlMethods } from '../../shared/contract/threads.js';
import { Deadlines } from '../../shared/deadlines.js';
import { DroverError } from '../../shared/errors.js';
import type { Exchange } from '../engine/engine.js';

/** How much longer than the host the front waits, in ms. */
const LATE_MS = 100;
/** Commands of one message. Their outcomes come together: the first waits until the last has begun. */
const MAX_TOGETHER = 64;
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
  /** As JSON. */
  readonly args: string;
  readonly #channel: HostChannel;
  readonly #resolve: (result: string | null) => void;
  readonly #reject: (error: DroverError) => void;
  /** It is on its way to the host, which decides what becomes of it. */
  isSent = false;
  /** What its client got. */
  error: DroverError | undefined;

  constructor(
    channel: HostChannel,
    id: number,
    { bot, command, args }: BotCommand,
    resolve: (result: string | null) => void,
    reject: (error: DroverError) => void,
  ) {
    this.#channel = channel;
    this.id = id;
    this.bot = bot;
    this.command = command;
    this.args = JSON.stringify(args);
    this.#resolve = resolve;
    this.#reject = reject;
  }

  giveUp(error: DroverError): void {
    this.error ??= error;
    this.#reject(this.error);
    if (!this.isSent) this.#channel.drop(this);
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
  /** Those that are not sent yet. */
  readonly #unsent = new Set<WaitingCommand>();
  #scheduled = false;
  /** The host has not taken the last message of commands. Those that come meanwhile share the next. */
  #isBusy = false;

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
    port.on('message', (list: OutcomeList) => {
      if (list[0] === TAKEN) {
        this.#isBusy = false;
        this.#send();
      }
      eachOutcome(list, (id, outcome) => this.#settle(id, outcome));
    });
  }

  run(command: BotCommand, exchange: Pick<Exchange, 'onGone'>): Promise<string | null> {
    if (this.#waiting.size >= this.#options.maxWaiting) {
      return Promise.reject(new DroverError('overloaded', undefined, RETRY_AFTER_S));
    }
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const waiting = new WaitingCommand(this, this.#lastId, command, resolve, reject);
      this.#waiting.set(waiting.id, waiting);
      this.#unsent.add(waiting);
      this.#deadlines.add(waiting);
      this.#sendSoon();
      exchange.onGone(() => this.#cancel(waiting));
    });
  }

  /** The host has ended, and with it the bots that ran these commands. */
  lost(): void {
    const lost = new DroverError('unavailable', `bot host ${this.#host} was lost`);
    for (const waiting of this.#waiting.values()) {
      // Nobody else will say what became of it.
      waiting.isSent = false;
      waiting.giveUp(lost);
    }
  }

  /** No host decides about it: main is told. */
  drop(waiting: WaitingCommand): void {
    const { id, bot, command, error } = waiting;
    if (!this.#waiting.delete(id)) return;
    this.#unsent.delete(waiting);
    this.#deadlines.remove(waiting);
    if (error) this.#options.failed({ bot, command, reason: error.message });
  }

  close(): void {
    this.#port.close();
  }

  #settle(id: number, outcome: CommandOutcome | null): void {
    const waiting = this.#waiting.get(id);
    if (!waiting) return;
    // Its client has got an error, and the host has not run it.
    if (outcome === null && waiting.error) {
      this.drop(waiting);
      return;
    }
    this.#waiting.delete(id);
    this.#deadlines.remove(waiting);
    waiting.settle(outcome);
  }

  #cancel(waiting: WaitingCommand): void {
    if (!this.#waiting.has(waiting.id)) return;
    const { isSent } = waiting;
    this.#deadlines.remove(waiting);
    waiting.giveUp(clientGone());
    if (isSent) this.#post({ type: 'cancel', id: waiting.id });
  }

  /**
   * Commands of one turn leave together, and then those that have come while the host had not taken these: each message wakes
   * the host, and its answer this front.
   */
  #sendSoon(): void {
    if (this.#scheduled || this.#isBusy) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#isBusy || this.#unsent.size === 0) return;
    const commands: CommandList = [];
    let count = 0;
    for (const waiting of this.#unsent) {
      this.#unsent.delete(waiting);
      waiting.isSent = true;
      commands.push(waiting.id, waiting.bot, waiting.command, waiting.args);
      count += 1;
      if (count === MAX_TOGETHER) break;
    }
    this.#isBusy = true;
    this.#post({ type: 'run', sentAt: process.uptime(), commands });
  }

  #post(message: CommandMessage): void {
    this.#port.postMessage(message);
  }
}
