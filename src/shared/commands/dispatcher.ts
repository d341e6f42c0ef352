// Runs in a front thread, and in main for other nodes. Handles `POST /invoke` for bots: main decides which of them the caller reaches
// and where they are, their hosts do the rest.

import type { InvokeOutput } from '../contract/api.js';
import { ANY_PERMIT } from '../contract/command-messages.js';
import type { CommandTarget, ControlMethods, InvokeInput } from '../contract/threads.js';
import type { Rights } from '../contract/tokens.js';
import { DroverError, messageOf } from '../errors.js';
import type { CommandClient, HostCommands, HostCommandsOptions } from './host-commands.js';

/** `Retry-After` of a command above the bound of its host, in s. */
const RETRY_AFTER_S = 1;
/** Most attempts to send a command: the bot may move, and its labels may change, while the command is on its way. */
const MAX_SENT = 3;

export interface DispatcherOptions {
  hosts: Pick<HostCommands, 'run' | 'hasRoom'>;
  /** Asks main. */
  targets: (
    input: Parameters<ControlMethods['commandTargets']>[0],
  ) => CommandTarget[] | Promise<CommandTarget[]>;
  failed: HostCommandsOptions['failed'];
  /** The host on which the bot runs as far as is known without asking main; null when it is not. */
  hostOf: (bot: string) => number | null;
}

/** Commands of one client. */
export interface CommandRequest {
  call: InvokeInput & { session_id: string | string[] };
  rights: Rights;
  client: CommandClient;
  /** Called for each bot of a list that has no result. */
  failed?(bot: string, error: string): void;
  /** Has main ask other nodes for these bots. */
  elsewhere: (bots: string | string[]) => Promise<InvokeOutput>;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /**
   * A single bot has its result, or its error is thrown. For a list, the errors are returned with the results.
   * @returns an InvokeOutput as JSON. @throws DroverError as documented for `POST /invoke`.
   */
  async invoke(request: CommandRequest): Promise<string> {
    const { session_id: asked, args } = request.call;
    const json = JSON.stringify(args);
    if (Array.isArray(asked)) return this.#invokeAll([...new Set(asked)], request, json);
    const target = this.#known(asked, request);
    if (target) this.#expectRoom(target);
    return `{"result":${await this.#run(asked, target, request, json)}}`;
  }

  async #invokeAll(bots: string[], given: CommandRequest, args: string): Promise<string> {
    const request = { ...given, client: shared(given.client) };
    const targets = await this.#targetsOf(bots, request);
    // A host that has room for the request takes all of its commands.
    const full = targets.map((target) => this.#isFull(target));
    const away = bots.filter((_, at) => isElsewhere(targets[at]));
    const elsewhere = away.length > 0 ? request.elsewhere(away) : undefined;
    const outcomes = bots.map(async (bot, at): Promise<string> => {
      try {
        if (full[at]) throw overloaded();
        if (elsewhere && isElsewhere(targets[at])) {
          const outcome = outcomeIn(await elsewhere, bot);
          if (outcome && 'error' in outcome) request.failed?.(bot, outcome.error);
          return JSON.stringify(outcome);
        }
        return `{"result":${await this.#run(bot, targets[at], request, args)}}`;
      } catch (thrown) {
        const error = messageOf(thrown);
        request.failed?.(bot, error);
        return JSON.stringify({ error });
      }
    });
    const entries = (await Promise.all(outcomes)).map(
      (outcome, at) => `${JSON.stringify(bots[at])}:${outcome}`,
    );
    return `{"results":{${entries.join(',')}}}`;
  }

  /** @param target undefined: main is asked. @returns the result as JSON. */
  async #run(
    bot: string,
    target: CommandTarget | undefined,
    request: CommandRequest,
    args: string,
  ): Promise<string> {
    const { command } = request.call;
    for (let sent = 0; sent < MAX_SENT; sent += 1) {
      if (!target) {
        [target] = await this.#ask([bot], request);
        if (target) this.#expectRoom(target);
      }
      if (!target || isElsewhere(target)) return resultIn(await request.elsewhere(bot));
      if ('error' in target) throw DroverError.fromPlain(target.error);
      const { host, permit } = target;
      const sending = { bot, command, args, permit };
      const result = await this.#options.hosts.run(host, sending, request.client);
      if (result !== null) return result;
      target = undefined;
    }
    const error = new DroverError('conflict', `bot ${bot} is not running`);
    this.#options.failed({ bot, command, reason: error.message });
    throw error;
  }

  /** The target without asking main. Main alone decides which bots a token reaches by their labels. */
  #known(bot: string, { rights: { reach } }: CommandRequest): CommandTarget | undefined {
    if (reach !== null && !('bots' in reach && reach.bots.includes(bot))) return undefined;
    const host = this.#options.hostOf(bot);
    return host === null ? undefined : { host, permit: ANY_PERMIT };
  }

  async #targetsOf(bots: string[], request: CommandRequest): Promise<CommandTarget[]> {
    const known = bots.map((bot) => this.#known(bot, request));
    const asked = bots.filter((_, at) => !known[at]);
    const answers = asked.length > 0 ? await this.#ask(asked, request) : [];
    let next = 0;
    return known.map((target) => target ?? (answers[next++] as CommandTarget));
  }

  #ask(
    bots: string[],
    { call, rights }: CommandRequest,
  ): CommandTarget[] | Promise<CommandTarget[]> {
    return this.#options.targets({ bots, command: call.command, rights });
  }

  #isFull(target: CommandTarget): boolean {
    return 'host' in target && !this.#options.hosts.hasRoom(target.host);
  }

  #expectRoom(target: CommandTarget): void {
    if (this.#isFull(target)) throw overloaded();
  }
}

function isElsewhere(target: CommandTarget | undefined): target is { isElsewhere: true } {
  return target !== undefined && 'isElsewhere' in target;
}

function overloaded(): DroverError {
  return new DroverError('overloaded', undefined, RETRY_AFTER_S);
}

function resultIn(output: InvokeOutput): string {
  return JSON.stringify('result' in output ? output.result : null);
}

function outcomeIn(output: InvokeOutput, bot: string) {
  return ('results' in output ? output.results[bot] : undefined) ?? null;
}

/** One listener for the commands of a list. */
function shared(client: CommandClient): CommandClient {
  const listeners: (() => void)[] = [];
  let isGone = false;
  client.onGone(() => {
    isGone = true;
    for (const left of listeners) left();
  });
  return {
    onGone(left) {
      if (isGone) left();
      else listeners.push(left);
    },
  };
}
