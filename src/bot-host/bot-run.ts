// Runs in a bot host thread. Owns one run of one bot, from its start to its end.

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { BotKind, Logger } from '../bot-sdk/index.js';
import type { RunTimeCommands } from '../bot-sdk/run-time-commands.js';
import { ANY_PERMIT, type CommandOutcome, noAnswer } from '../shared/contract/command-messages.js';
import type { HostedState } from '../shared/contract/host-messages.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import { answerable } from '../shared/contract/rpc.js';
import { Deferred } from '../shared/deferred.js';
import { DroverError } from '../shared/errors.js';
import type { NetworkRules } from '../shared/network-rules.js';
import type { BotLines } from './bot-lines.js';
import { BotLogger } from './bot-logger.js';
import { CommandCall } from './command-call.js';
import { type CurrentRun, runAsBot } from './current-bot.js';
import { errorText, failedRun, type RunEnd } from './error-text.js';
import type { BotFence } from './fence.js';
import { OfferedCommands } from './offered-commands.js';
import type { Outbox } from './outbox.js';
import { releaseOwn, runContained } from './own-listeners.js';
import { type BotPlatform, RunContext } from './run-context.js';
import { RunStatus } from './run-status.js';

/** A command of a unit test. */
export interface CommandInput {
  command: string;
  args: JsonObject;
  timeoutMs: number;
}

export interface BotRunOptions {
  kind: BotKind;
  id: string;
  number: number;
  config: JsonObject;
  outbox: Outbox;
  lines: BotLines;
  network: NetworkRules;
  /** Called once, when the bot has the status in which its kind is ready. */
  ready?: () => void;
  /** Takes an error that comes when the run can no longer write lines. */
  reportLate: (error: string) => void;
  /** Replaces the clock and the network in a unit test. */
  platform?: BotPlatform;
  /** The fence of the node's lease; null without a cluster. */
  fence?: BotFence | null;
  /** The bot's term, on a node in a cluster. */
  term?: number | undefined;
  /** {@link BotRun.permit} */
  permit?: number | undefined;
}

/** Errors of a run that is over, or is to stop, that are reported: code that it has left behind may throw for ever. */
const MAX_LATE_ERRORS = 10;

export class BotRun implements CurrentRun, RunTimeCommands {
  readonly kind: BotKind;
  readonly id: string;
  readonly number: number;
  readonly log: Logger;
  /** The context that the bot's code gets. */
  readonly context: RunContext;
  isGone = false;
  /** Commands that carry another one are not run, except {@link ANY_PERMIT}. */
  permit: number;
  /** Set when the run has offered commands. */
  offered: OfferedCommands | undefined;
  /** Called when the run has offered commands. */
  onOffer: (offered: OfferedCommands) => void = () => {};
  /** Resolves when the run has ended. Never rejects. */
  readonly ended: Promise<RunEnd>;
  readonly #lines: BotLines;
  readonly #abort = new AbortController();
  /** The reason of its signal. It is kept here, because the bot may change its signal. */
  #reason: DroverError | null = null;
  readonly #status: RunStatus;
  /** The result of the kind's `run`, or the uncaught error that came first. */
  readonly #outcome = new Deferred();
  readonly #settled = new Deferred();
  /** Commands without an outcome. Their callers bound them. */
  readonly #calls = new Set<CommandCall>();
  readonly #fence: BotFence | null;
  readonly #reportLate: (error: string) => void;
  #lateErrors = 0;

  /** @throws DroverError when the kind's `state` throws; the message has no secrets. */
  constructor(options: BotRunOptions) {
    const { kind, id, number, config, outbox, lines, network, platform } = options;
    const { permit = ANY_PERMIT, fence = null, term = null } = options;
    this.#reportLate = options.reportLate;
    this.#fence = fence;
    this.kind = kind;
    this.id = id;
    this.number = number;
    this.permit = permit;
    const { signal } = this.#abort;
    // Without a limit of listeners: each timer, request and connection adds one.
    setMaxListeners(0, signal);
    const log = new BotLogger(lines, 'bot');
    this.log = log;
    this.#lines = lines;
    this.#status = new RunStatus(id, outbox, lines, {
      status: kind.ready,
      reached: options.ready ?? (() => {}),
    });
    // Prevents an unhandled rejection before #live waits for it.
    this.#outcome.promise.catch(() => {});
    // The host uses its own logger, because the bot may change the one that it gets.
    const own = {
      config,
      term,
      state: this.#createState(),
      signal,
      log: new BotLogger(lines, 'bot'),
    };
    this.context = new RunContext(this, own, this.#status, network, platform, fence);
    this.ended = this.#live();
  }

  /** Resolves when the kind's `run` has returned or thrown: later than {@link ended} when it ignores its signal. */
  get settled(): Promise<void> {
    return this.#settled.promise;
  }

  hostedState(): HostedState {
    return this.#status.hostedState();
  }

  /** Whether it was asked to stop or has ended. */
  get isOver(): boolean {
    return this.#reason !== null;
  }

  /** Asks the bot to stop; {@link ended} resolves when it has. */
  stop(): void {
    if (this.isOver) return;
    this.#status.set('stopping');
    this.#end(new DroverError('conflict', 'the bot is stopping'));
  }

  /**
   * Runs a command.
   * @param readArgs returns the checked arguments; what it throws is the outcome. @param settle is called once, at the latest when
   * the run ends or is asked to end: before that is published.
   */
  command(
    name: string,
    readArgs: () => JsonObject,
    settle: (outcome: CommandOutcome) => void,
  ): CommandCall {
    const call = new CommandCall(this, this.#lines, (outcome) => {
      this.#calls.delete(call);
      settle(outcome);
    });
    if (this.isOver) {
      call.abort(this.#hasStopped());
      return call;
    }
    let args: JsonObject;
    try {
      args = readArgs();
    } catch (thrown) {
      call.abort(answerable(`the command ${name}`, thrown));
      return call;
    }
    call.start(this.offered ?? this.kind, name, this.context, args);
    if (call.isOpen) this.#calls.add(call);
    return call;
  }

  /**
   * The same for a unit test, which waits with a promise. Rejects with `not_found`, `command_failed`, `conflict` when the bot stops,
   * or `no_answer` after the timeout.
   */
  invoke({ command, args, timeoutMs }: CommandInput): Promise<Json> {
    return new Promise((resolve, reject) => {
      let deadline: NodeJS.Timeout | undefined;
      const call = this.command(
        command,
        () => args,
        (outcome) => {
          clearTimeout(deadline);
          if (typeof outcome === 'string') resolve(JSON.parse(outcome) as Json);
          else reject(outcome);
        },
      );
      if (!call.isOpen) return;
      deadline = setTimeout(() => call.abort(noAnswer(command, timeoutMs)), timeoutMs);
    });
  }

  /**
   * Ends the run with an error that no code of the bot has caught. For a run that has ended or is stopping, only a line
   * reports it.
   */
  fail(thrown: unknown): void {
    if (!this.isOver) {
      this.#outcome.reject(thrown);
      return;
    }
    this.#lateErrors += 1;
    if (this.#lateErrors > MAX_LATE_ERRORS) return;
    const last = this.#lateErrors === MAX_LATE_ERRORS ? ' (further errors are not shown)' : '';
    const error = `${errorText(thrown, this.#lines)}${last}`;
    if (this.#lines.isClosed) this.#reportLate(error);
    else this.log.error(`error after the signal to stop: ${error}`);
  }

  admits(permit: number): boolean {
    return permit === ANY_PERMIT || permit === this.permit;
  }

  exemptFromLease(stays: boolean): void {
    if (this.#fence) this.#fence.stays = stays;
  }

  checkLease(): void {
    this.#fence?.check();
  }

  masked(text: string): string {
    return this.#lines.mask.text(text);
  }

  offerCommands(commands: BotKind['commands']): void {
    this.offered = OfferedCommands.of(this.kind.kind, commands);
    this.onOffer(this.offered);
  }

  /** Writes a line of the host about the run. */
  warn(message: string): void {
    this.#lines.warn(message);
  }

  /** Gives up a run that did not stop in time. It publishes nothing more, because its successor has the same id. */
  abandon(): void {
    this.#status.close();
    this.#lines.close();
  }

  #end(reason: DroverError): void {
    if (!this.isOver) {
      this.#reason = reason;
      this.#lines.limitLast();
    }
    // Listeners are the bot's code: an error in one is the bot's.
    runContained(this, () => this.#abort.abort(reason));
    for (const call of this.#calls) call.abort(this.#hasStopped());
  }

  #hasStopped(): DroverError {
    return new DroverError('conflict', `bot ${this.id} has stopped`);
  }

  #createState(): unknown {
    try {
      return runAsBot(this, () => this.kind.state());
    } catch (thrown) {
      throw new DroverError('internal', errorText(thrown, this.#lines));
    }
  }

  async #live(): Promise<RunEnd> {
    let end: RunEnd = { error: null, stack: null, restart: true };
    try {
      // The start is answered before bot code runs.
      await delay(0);
      const life = runAsBot(this, async () => this.kind.run(this.context));
      const settle = (): void => this.#settled.resolve();
      life.then(settle, settle);
      life.then(this.#outcome.resolve, this.#outcome.reject);
      await this.#outcome.promise;
    } catch (thrown) {
      // Reads the error in the bot's context, because its getters may be code of the bot.
      end = runAsBot(this, () => this.#endOf(thrown));
    }
    this.#end(new DroverError('conflict', 'the bot has ended'));
    releaseOwn(this, end.error === null ? 0 : 1);
    this.#status.flush();
    // Code that still runs must not publish after the end is reported: the bot may be deleted by then.
    this.abandon();
    return end;
  }

  #endOf(thrown: unknown): RunEnd {
    if (!this.isOver) return failedRun(thrown, this.#lines);
    // While it stops, every pending call rejects. That is the normal end, not a failure.
    if (!isAbort(thrown, this.#reason)) this.fail(thrown);
    return { error: null, stack: null, restart: true };
  }
}

/** The error comes from a call that was pending at the signal to stop. */
function isAbort(thrown: unknown, reason: unknown): boolean {
  try {
    const { name, cause } = (thrown ?? {}) as { name?: unknown; cause?: unknown };
    return thrown === reason || name === 'AbortError' || cause === reason;
  } catch {
    return false;
  }
}
