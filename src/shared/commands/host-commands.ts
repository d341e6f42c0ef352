// Runs in a front thread, and in main for other nodes. Owns this thread's channels to the bot hosts, and the commands that wait
// for their outcomes.

import type { MessagePort } from 'node:worker_threads';
import {
  type CommandList,
  type CommandMessage,
  type CommandOutcome,
  clientGone,
  ENDED,
  eachOutcome,
  noAnswer,
  type OutcomeList,
  TAKEN,
} from '../contract/command-messages.js';
import type { ControlMethods } from '../contract/threads.js';
import { Deadlines } from '../deadlines.js';
import { DroverError } from '../errors.js';

/** Time that this thread waits longer than the host, in ms. */
const LATE_MS = 100;
/** Commands of one message. Their outcomes come together: the first waits until the last has begun. */
const MAX_TOGETHER = 64;

/** A command for one bot. */
export interface BotCommand {
  bot: string;
  command: string;
  /** The arguments, as JSON. */
  args: string;
  /** {@link BotStart.permit} under which main has allowed it, or ANY_PERMIT. */
  permit: number;
}

/** A client that waits for commands. */
export interface CommandClient {
  /** Calls `left` when it waits no longer. For one listener. */
  onGone(left: () => void): void;
}

export interface HostCommandsOptions {
  /** Asks main for a channel to this host. */
  connect: (host: number) => Promise<MessagePort>;
  /** Puts on the stream that a command failed: its host is lost, or did not run it. */
  failed: (failure: Parameters<ControlMethods['commandFailed']>[0]) => void;
  /** How long a command may take, in ms. */
  timeoutMs: number;
  /** Commands of one host that may wait before another request has no room. */
  maxWaiting: number;
}

export class HostCommands {
  readonly #options: HostCommandsOptions;
  readonly #deadlines: Deadlines<WaitingCommand>;
  /** Channels by the number of the host. */
  readonly #channels = new Map<number, HostChannel>();

  constructor(options: HostCommandsOptions) {
    this.#options = options;
    const { timeoutMs } = options;
    this.#deadlines = new Deadlines(timeoutMs + LATE_MS, (waiting) =>
      waiting.giveUp(noAnswer(waiting.command.command, timeoutMs)),
    );
  }

  /** Whether another request may send commands to this host. Those of a list, at most 1,000, are sent together. */
  hasRoom(host: number): boolean {
    return (this.#channels.get(host)?.waiting ?? 0) < this.#options.maxWaiting;
  }

  /**
   * Has a host run the command. The outcome is on its way to the stream when this resolves or rejects.
   * @returns the result as JSON, or null: the bot does not run there, or not with this permit, and nothing is on the stream.
   * @throws DroverError as documented for `POST /invoke`.
   */
  run(host: number, command: BotCommand, client: CommandClient): Promise<string | null> {
    return (this.#channels.get(host) ?? this.#open(host)).run(command, client);
  }

  /** A host ends or is lost, and another may get its number. */
  detachHost(host: number): void {
    const channel = this.#channels.get(host);
    if (!channel) return;
    this.#channels.delete(host);
    channel.close();
  }

  detach(): void {
    this.#deadlines.clear();
    // The hosts see this thread's end, and say what became of its commands.
    for (const channel of this.#channels.values()) channel.disconnect();
    this.#channels.clear();
  }

  #open(host: number): HostChannel {
    const channel = new HostChannel(host, this.#options, this.#deadlines);
    this.#channels.set(host, channel);
    void this.#connect(host, channel);
    return channel;
  }

  async #connect(host: number, channel: HostChannel): Promise<void> {
    try {
      const port = await this.#options.connect(host);
      if (this.#channels.get(host) !== channel) return port.close();
      channel.connect(port);
      // Main tells of each host that ends, but a command must not wait for that.
      port.once('close', () => {
        if (this.#channels.get(host) === channel) this.detachHost(host);
      });
    } catch {
      // The next command asks for the channel again.
      if (this.#channels.get(host) === channel) this.detachHost(host);
    }
  }
}

/**
 * One command without an outcome. Its client may have got an error already; it waits nevertheless, because only the host knows
 * whether it puts the outcome on the stream.
 */
class WaitingCommand {
  readonly id: number;
  readonly command: BotCommand;
  readonly #channel: HostChannel;
  readonly #resolve: (result: string | null) => void;
  readonly #reject: (error: DroverError) => void;
  /** Whether it was sent to the host, which then decides its outcome. */
  isSent = false;
  /** The answer that its client got. */
  error: DroverError | undefined;

  constructor(
    channel: HostChannel,
    id: number,
    command: BotCommand,
    resolve: (result: string | null) => void,
    reject: (error: DroverError) => void,
  ) {
    this.#channel = channel;
    this.id = id;
    this.command = command;
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
  readonly #options: HostCommandsOptions;
  readonly #deadlines: Deadlines<WaitingCommand>;
  /** Undefined until main has given it: commands wait for it within their deadline. */
  #port: MessagePort | undefined;
  /** {@link HostCommands.hasRoom} bounds it: and with it the messages that wait in the port, and the host's work for this thread. */
  readonly #waiting = new Map<number, WaitingCommand>();
  #lastId = 0;
  /** Commands that are not sent yet. */
  readonly #unsent = new Set<WaitingCommand>();
  #scheduled = false;
  /** The host has not taken the last message of commands. Those that come meanwhile share the next. */
  #isBusy = false;

  constructor(host: number, options: HostCommandsOptions, deadlines: Deadlines<WaitingCommand>) {
    this.#host = host;
    this.#options = options;
    this.#deadlines = deadlines;
  }

  /** Commands without an outcome. */
  get waiting(): number {
    return this.#waiting.size;
  }

  connect(port: MessagePort): void {
    this.#port = port;
    port.on('message', (list: OutcomeList) => {
      if (list[0] === TAKEN) {
        this.#isBusy = false;
        this.#send();
      }
      eachOutcome(list, (id, outcome) => this.#settle(id, outcome));
      if (list[0] === ENDED) this.#notBegun();
    });
    this.#send();
  }

  run(command: BotCommand, client: CommandClient): Promise<string | null> {
    return new Promise((resolve, reject) => {
      this.#lastId += 1;
      const waiting = new WaitingCommand(this, this.#lastId, command, resolve, reject);
      this.#waiting.set(waiting.id, waiting);
      this.#unsent.add(waiting);
      this.#deadlines.add(waiting);
      this.#sendSoon();
      client.onGone(() => this.#cancel(waiting));
    });
  }

  disconnect(): void {
    this.#port?.close();
  }

  /** No bot runs there any more: their senders ask main where they go. */
  #notBegun(): void {
    this.#port = undefined;
    for (const id of [...this.#waiting.keys()]) this.#settle(id, null);
  }

  /** The host has ended, and with it the bots that ran these commands; or there is none to connect to. */
  close(): void {
    this.disconnect();
    const isConnected = this.#port !== undefined;
    const lost = new DroverError('unavailable', `bot host ${this.#host} was lost`);
    for (const waiting of this.#waiting.values()) {
      // No host will report its outcome, so this thread does.
      waiting.isSent = false;
      if (isConnected) waiting.giveUp(lost);
      else this.#settle(waiting.id, null);
    }
  }

  /** Drops a command about which no host decides, and tells main. */
  drop(waiting: WaitingCommand): void {
    const {
      id,
      error,
      command: { bot, command },
    } = waiting;
    if (!this.#waiting.delete(id)) return;
    this.#unsent.delete(waiting);
    this.#deadlines.remove(waiting);
    if (error) this.#options.failed({ bot, command, reason: error.message });
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
    this.#unsent.delete(waiting);
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
    if (this.#scheduled || this.#isBusy || !this.#port) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#send();
    });
  }

  #send(): void {
    if (this.#isBusy || !this.#port || this.#unsent.size === 0) return;
    const commands: CommandList = [];
    let count = 0;
    for (const waiting of this.#unsent) {
      this.#unsent.delete(waiting);
      waiting.isSent = true;
      const { bot, command, args, permit } = waiting.command;
      commands.push(waiting.id, bot, command, args, permit);
      count += 1;
      if (count === MAX_TOGETHER) break;
    }
    this.#isBusy = true;
    this.#post({ type: 'run', sentAt: process.uptime(), commands });
  }

  #post(message: CommandMessage): void {
    this.#port?.postMessage(message);
  }
}
