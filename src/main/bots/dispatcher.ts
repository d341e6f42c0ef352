import { setMaxListeners } from 'node:events';
import type { InvokeOutcome, InvokeOutput } from '../../shared/contract/api.js';
import { clientGone, noAnswer } from '../../shared/contract/command-messages.js';
import { failureLine, resultLine } from '../../shared/contract/dispatch-line.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { answerable } from '../../shared/contract/rpc.js';
import type { InvokeInput } from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { unlessAborted } from '../../shared/unless-aborted.js';
import type { ServiceEvents } from '../service-events.js';
import type { BotRegistry } from './registry.js';

/** How much longer than the host main waits, in ms. */
const LATE_MS = 100;

/** Commands of the service, addressed by `session_id: null`. */
export type ServiceCommands = Record<string, (args: JsonObject) => Json | Promise<Json>>;

/**
 * Handles `POST /invoke`, as far as the fronts do not send it to a bot host themselves (src/front/bots/host-commands.ts): its targets,
 * the deadline, and a `dispatch` line for every result.
 */
export class Dispatcher {
  readonly #registry: BotRegistry;
  readonly #events: ServiceEvents;
  readonly #timeoutMs: number;
  readonly #commands: ServiceCommands;

  constructor(
    registry: BotRegistry,
    events: ServiceEvents,
    timeoutMs: number,
    commands: ServiceCommands,
  ) {
    this.#registry = registry;
    this.#events = events;
    this.#timeoutMs = timeoutMs;
    this.#commands = commands;
  }

  /**
   * A single target returns or throws. For a list, the errors are returned with the results.
   * @param gone is aborted when the client disconnects: running commands are cancelled, and fail with that.
   */
  async invoke(input: InvokeInput, gone?: AbortSignal): Promise<InvokeOutput> {
    const { session_id: target } = input;
    if (!Array.isArray(target)) return { result: await this.#dispatch(target, input, gone) };
    // Each target listens to it; Node warns of a leak above ten listeners.
    if (gone) setMaxListeners(target.length + 1, gone);
    const outcomes = await Promise.all(
      [...new Set(target)].map(async (id): Promise<[string, InvokeOutcome]> => {
        try {
          return [id, { result: await this.#dispatch(id, input, gone) }];
        } catch (thrown) {
          return [id, { error: messageOf(thrown) }];
        }
      }),
    );
    return { results: Object.fromEntries(outcomes) };
  }

  async #dispatch(
    target: string | null,
    { command, args }: InvokeInput,
    gone?: AbortSignal,
  ): Promise<Json> {
    try {
      const result =
        target === null
          ? await this.#service(command, args)
          : await this.#ask(target, command, args, gone);
      this.#events.tell(resultLine(target, command, JSON.stringify(result)));
      return result;
    } catch (thrown) {
      const error = answerable(`the command ${command}`, thrown);
      this.failed(target, command, messageOf(error));
      throw error;
    }
  }

  /**
   * Main has its own deadline, because a bot's host may hang. The host's deadline aborts the command's signal.
   */
  async #ask(id: string, command: string, args: JsonObject, gone?: AbortSignal): Promise<Json> {
    const cancel = new AbortController();
    const { signal } = cancel;
    const hungUp = (): void => cancel.abort(clientGone());
    const answer = this.#registry.invoke(id, command, args, signal);
    const timer = setTimeout(
      () => cancel.abort(noAnswer(command, this.#timeoutMs)),
      this.#timeoutMs + LATE_MS,
    );
    gone?.addEventListener('abort', hungUp);
    if (gone?.aborted) hungUp();
    try {
      return await unlessAborted(answer, signal);
    } finally {
      clearTimeout(timer);
      gone?.removeEventListener('abort', hungUp);
    }
  }

  #service(name: string, args: JsonObject): Json | Promise<Json> {
    const command = Object.hasOwn(this.#commands, name) ? this.#commands[name] : undefined;
    if (!command) {
      const known = Object.keys(this.#commands).join(', ');
      throw new DroverError(
        'not_found',
        `no command ${JSON.stringify(name)}; the service has: ${known}`,
      );
    }
    return command(args);
  }

  /** Puts on the stream that a command had no result. */
  failed(target: string | null, command: string, reason: string): void {
    this.#events.tell(failureLine(target, command, reason));
  }
}
