// Runs in a bot host thread. Owns the channels of the fronts and of main: takes their commands, and answers with the outcomes.

import type { BotCommand } from '../shared/commands/host-commands.js';
import {
  addOutcome,
  type CommandMessage,
  clientGone,
  ENDED,
  eachCommand,
  LATER,
  noAnswer,
  nobodyWaits,
  type OutcomeList,
  TAKEN,
} from '../shared/contract/command-messages.js';
import type { HostPort } from '../shared/contract/threads.js';
import { Deadlines } from '../shared/deadlines.js';
import type { CommandCall } from './command-call.js';
import type { BotHost } from './host.js';

/** The part of the host that runs commands. */
type Dispatching = Pick<BotHost, 'dispatch' | 'refuse' | 'flush'>;

interface OpenCommand {
  name: string;
  call: CommandCall;
}

export class FrontCommands {
  readonly #host: Dispatching;
  readonly #timeoutMs: number;
  readonly #deadlines: Deadlines<OpenCommand>;
  readonly #channels = new Set<FrontChannel>();

  /** @param timeoutMs how long a command may take. */
  constructor(host: Dispatching, timeoutMs: number) {
    this.#host = host;
    this.#timeoutMs = timeoutMs;
    this.#deadlines = new Deadlines(timeoutMs, ({ name, call }) =>
      call.abort(noAnswer(name, timeoutMs)),
    );
  }

  /** Takes commands from a front until it closes its end or is gone. */
  attach(port: HostPort): void {
    const channel = new FrontChannel(port, this.#host, this.#timeoutMs, this.#deadlines);
    this.#channels.add(channel);
    // When the front's thread ends, this event is all that comes.
    port.once('close', () => {
      this.#channels.delete(channel);
      channel.cancelAll();
    });
  }

  close(): void {
    this.#deadlines.clear();
    for (const channel of this.#channels) channel.close();
  }
}

/**
 * The channel of one front. The front bounds the commands without an outcome (src/shared/commands/host-commands.ts), and with them the
 * messages that wait in the port and the calls here.
 */
class FrontChannel {
  readonly #port: HostPort;
  readonly #host: Dispatching;
  readonly #timeoutMs: number;
  readonly #deadlines: Deadlines<OpenCommand>;
  /** Open commands by the front's id. */
  readonly #open = new Map<number, OpenCommand>();
  #outcomes: OutcomeList = [LATER];
  #isTaking = false;
  #scheduled = false;

  constructor(
    port: HostPort,
    host: Dispatching,
    timeoutMs: number,
    deadlines: Deadlines<OpenCommand>,
  ) {
    this.#port = port;
    this.#host = host;
    this.#timeoutMs = timeoutMs;
    this.#deadlines = deadlines;
    port.on('message', (message: CommandMessage) => this.#take(message));
  }

  /** The front is gone, and its clients with it. */
  cancelAll(): void {
    for (const { call } of this.#open.values()) call.abort(clientGone(), nobodyWaits());
  }

  close(): void {
    this.#flush();
    this.#port.postMessage([ENDED]);
    this.#port.close();
  }

  #take(message: CommandMessage): void {
    if (message.type === 'cancel') {
      this.#open.get(message.id)?.call.abort(clientGone(), nobodyWaits());
      return;
    }
    // The host has hung until the front gave up, so nobody waits for these commands.
    const isLate = (process.uptime() - message.sentAt) * 1000 >= this.#timeoutMs;
    this.#isTaking = true;
    eachCommand(message.commands, (id, bot, command, args, permit) => {
      if (isLate) {
        const error = noAnswer(command, this.#timeoutMs);
        const isRefused = this.#host.refuse(bot, command, permit, error);
        addOutcome(this.#outcomes, id, isRefused ? error : null);
      } else {
        this.#run(id, { bot, command, args, permit });
      }
    });
    this.#isTaking = false;
    // Sends a message even without outcomes, because the front waits for it before it sends more commands.
    this.#outcomes[0] = TAKEN;
    this.#flush();
  }

  #run(id: number, command: BotCommand): void {
    let entry: OpenCommand | undefined;
    const call = this.#host.dispatch(command, (outcome) => {
      if (entry) {
        this.#open.delete(id);
        this.#deadlines.remove(entry);
      }
      addOutcome(this.#outcomes, id, outcome);
      // Outcomes of one turn leave together: each message wakes the front.
      if (!this.#isTaking) this.#flushSoon();
    });
    if (call === null) {
      addOutcome(this.#outcomes, id, null);
    } else if (call.isOpen) {
      entry = { name: command.command, call };
      this.#open.set(id, entry);
      this.#deadlines.add(entry);
    }
  }

  #flushSoon(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    const outcomes = this.#outcomes;
    // The outcomes have left with the answer to a message of commands.
    if (outcomes.length === 1 && outcomes[0] === LATER) return;
    this.#outcomes = [LATER];
    // Who has the result finds the command's lines in the history.
    this.#host.flush();
    this.#port.postMessage(outcomes);
  }
}
