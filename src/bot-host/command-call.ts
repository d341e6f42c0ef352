// Runs in a bot host thread. Owns one call of a command of a bot, from its start to its outcome.

import type { BotContext, BotKind, CommandCall as SdkCall } from '../bot-sdk/index.js';
import type { CommandOutcome } from '../shared/contract/command-messages.js';
import type { JsonObject } from '../shared/contract/json.js';
import { DroverError } from '../shared/errors.js';
import { botJson } from './bot-json.js';
import type { BotLines } from './bot-lines.js';
import { type CurrentRun, runAsBot } from './current-bot.js';
import { errorText } from './error-text.js';
import { runContained } from './own-listeners.js';

/** Largest result of a command, as JSON, in bytes: it crosses threads on its way. */
const MAX_RESULT_BYTES = 1_048_576;
/** Bytes of UTF-8 that one UTF-16 unit has at most. */
const MAX_UNIT_BYTES = 3;

/**
 * Most commands answer at once, so a call makes nothing that only a waiting one needs: no promise, no timer, and an AbortSignal
 * only for a command that looks at it.
 */
export class CommandCall {
  readonly #run: CurrentRun;
  readonly #lines: BotLines;
  #settle: ((outcome: CommandOutcome) => void) | undefined;
  #cancel: AbortController | undefined;
  /** Why it was aborted. */
  #reason: DroverError | undefined;

  /**
   * @param settle is called once, with the result or the error: `not_found`, `command_failed`, or what {@link abort} gives. It
   * may be called before {@link start} returns.
   */
  constructor(run: CurrentRun, lines: BotLines, settle: (outcome: CommandOutcome) => void) {
    this.#run = run;
    this.#lines = lines;
    this.#settle = settle;
  }

  /** Whether it has no outcome yet. */
  get isOpen(): boolean {
    return this.#settle !== undefined;
  }

  start(
    { commands }: Pick<BotKind, 'commands'>,
    name: string,
    context: BotContext,
    args: JsonObject,
  ): void {
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
    if (!command) {
      this.#end(new DroverError('not_found', `no command ${JSON.stringify(name)}`));
      return;
    }
    this.#lines.mask.hear(args);
    runAsBot(this.#run, () => {
      try {
        const result: unknown = command.run(context, args, this.#options());
        if (!isThenable(result)) this.#succeed(result);
        else Promise.resolve(result).then(this.#succeed, this.#throw);
      } catch (thrown) {
        this.#throw(thrown);
      }
    });
  }

  /**
   * Sets this error as the outcome, regardless of what the command still does.
   * @param reason the reason of the command's signal.
   */
  abort(error: DroverError, reason = error): void {
    if (!this.isOpen) return;
    this.#reason = reason;
    const cancel = this.#cancel;
    // Listeners are the bot's code.
    if (cancel) runContained(this.#run, () => cancel.abort(reason));
    this.#end(error);
  }

  readonly #succeed = (result: unknown): void => {
    // Drops the result of a call that was given up.
    if (!this.isOpen) return;
    let outcome: CommandOutcome;
    try {
      outcome = this.#toJson(result);
    } catch (thrown) {
      this.#throw(thrown);
      return;
    }
    this.#end(outcome);
  };

  readonly #throw = (thrown: unknown): void => {
    if (!this.isOpen) return;
    this.#end(new DroverError('command_failed', errorText(thrown, this.#lines)));
  };

  #end(outcome: CommandOutcome): void {
    const settle = this.#settle;
    this.#settle = undefined;
    settle?.(outcome);
  }

  /** The command's third argument. The signal is a property of the object itself, so that a copy of the object has it too. */
  #options(): SdkCall {
    const signal = (): AbortSignal => this.#signal();
    return {
      get signal() {
        return signal();
      },
    };
  }

  #signal(): AbortSignal {
    if (!this.#cancel) {
      this.#cancel = new AbortController();
      if (this.#reason) this.#cancel.abort(this.#reason);
    }
    return this.#cancel.signal;
  }

  /** Plain JSON can cross threads, and is a copy that the bot cannot change later; without the bot's secrets. */
  #toJson(result: unknown): string {
    const text = botJson(result, 'a result');
    if (text === undefined) return 'null';
    if (text.length * MAX_UNIT_BYTES > MAX_RESULT_BYTES) checkSize(Buffer.byteLength(text));
    return this.#lines.mask.jsonText(text);
  }
}

function checkSize(size: number): void {
  if (size <= MAX_RESULT_BYTES) return;
  throw new RangeError(`a result of ${size} bytes is too large, ${MAX_RESULT_BYTES} are allowed`);
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    ((typeof value === 'object' && value !== null) || typeof value === 'function') &&
    typeof (value as { then?: unknown }).then === 'function'
  );
}
