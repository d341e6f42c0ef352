// The public module `drover/bot-sdk/testing`: runs a kind in a unit test, with the code that runs it in a bot host. It is here because
// it needs that code; bot hosts do not load it.

import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BotContext, type BotKind, defineBot, Type } from '../bot-sdk/index.js';
import { CommandArgs, checkedCopy } from '../shared/contract/command-args.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import { secretStrings } from '../shared/contract/secrets.js';
import { Deferred } from '../shared/deferred.js';
import { kindAjv } from '../shared/kind-ajv.js';
import { NetworkRules } from '../shared/network-rules.js';
import { withTimeout } from '../shared/with-timeout.js';
import { BotLines } from './bot-lines.js';
import { BotRun } from './bot-run.js';
import { FakeClock } from './fake-clock.js';
import { commandSchemas } from './kinds.js';
import type { Outbox } from './outbox.js';

/** Lines that are kept; further `info` lines are skipped and counted, as in a service. */
const MAX_LINES = 100_000;
const DEFAULT_WITHIN_MS = 5000;
/** How long a command may take, as by default in a service, in ms. */
const COMMAND_MS = 10_000;
let lastRun = 0;

/** A line of the bot. */
export interface TestLine {
  level: 'info' | 'warn' | 'error' | 'state';
  scope: string;
  /** How the message of a wire line was sent, and in which direction; null for other lines. */
  transport: 'tcp' | 'http' | null;
  direction: 'outgoing' | 'incoming' | null;
  /** Set for a wire line that has one. */
  correlationId?: string;
  message: string;
}

/** How a run ended: `error` is null when it returned or was stopped. */
export interface TestEnd {
  error: string | null;
  /** False when the bot said that a restart cannot help. */
  restart: boolean;
}

export interface TestOptions {
  /** Validated by the kind's schema, with defaults filled in. */
  config?: JsonObject;
  /** Default `test`. */
  id?: string;
  /** Answers the requests of `ctx.fetch`, in place of the network. */
  fetch?: (url: URL, init: RequestInit) => Response | Promise<Response>;
  /** Like `network.allow` of the configuration. Default: everything. */
  allow?: string[] | null;
}

/** A bot in a unit test. Its clock is paused: `ctx.sleep`, `every` and `after` wait for {@link advance}. */
export class TestBot<Config = JsonObject, State = unknown> {
  /** Lines of all levels, oldest first. */
  readonly lines: TestLine[] = [];
  /** Each status that the bot has had, oldest first. */
  readonly statuses: string[] = [];
  readonly #run: BotRun;
  readonly #clock = new FakeClock();
  readonly #begun = new Deferred();
  readonly #args: CommandArgs;
  #end: TestEnd | null = null;
  /** Called after each change of what a test can see. */
  readonly #watchers = new Set<() => void>();

  /** Use {@link startBot}. @throws Error when the configuration is not valid. */
  constructor(kind: BotKind, { config = {}, id = 'test', fetch, allow = null }: TestOptions) {
    const ajv = kindAjv();
    this.#args = new CommandArgs(kind.kind, commandSchemas(kind), ajv);
    const checked = checkedCopy(ajv().compile(kind.config), 'config', config);
    const outbox: Pick<Outbox, 'add' | 'hasRoom' | 'flush'> = {
      hasRoom: () => this.lines.length < MAX_LINES,
      flush() {},
      add: (item) => {
        if (item.kind === 'log') {
          const { level, scope, transport, direction, message_json, correlation_id } = item;
          const message = JSON.parse(message_json) as string;
          const line: TestLine = { level, scope, transport, direction, message };
          if (correlation_id !== undefined) line.correlationId = correlation_id;
          this.lines.push(line);
        } else if (item.patch.status !== undefined) this.statuses.push(item.patch.status);
        this.#changed();
      },
    };
    const lines = new BotLines(outbox as Outbox, id, 0, secretStrings(checked, kind.config));
    const begun: BotKind = {
      ...kind,
      run: (ctx) => {
        this.#begun.resolve();
        return kind.run(ctx);
      },
    };
    lastRun += 1;
    const late = (error: string): void => {
      this.lines.push({ ...LATE, message: `error after the end of its run: ${error}` });
    };
    const platform = {
      ...this.#clock.platform,
      fetch: async (url: URL, init: RequestInit): Promise<Response> =>
        fetch ? fetch(url, init) : globalThis.fetch(url, init),
    };
    const network = new NetworkRules(allow);
    this.#run = new BotRun({
      kind: begun,
      id,
      number: lastRun,
      config: checked,
      outbox: outbox as Outbox,
      lines,
      network,
      reportLate: late,
      platform,
    });
    void this.#run.ended.then(({ error, restart }) => {
      this.#end = { error, restart };
      // Ends the wait for a run that is stopped before it begins.
      this.#begun.resolve();
      this.#changed();
    });
  }

  /** The context that the kind's code gets. */
  get context(): BotContext<Config, State> {
    return this.#run.context as unknown as BotContext<Config, State>;
  }

  /** The bot's present status; `starting` until it sets one. */
  get status(): string {
    return this.#run.hostedState().status;
  }

  /** The data that the bot has set with `updateData`. */
  get data(): JsonObject {
    return this.#run.hostedState().data;
  }

  /** How the run ended; null while it runs. */
  get end(): TestEnd | null {
    return this.#end;
  }

  /** The messages of all lines, or of those of one level. */
  messages(level?: TestLine['level']): string[] {
    return this.lines
      .filter((line) => level === undefined || line.level === level)
      .map(({ message }) => message);
  }

  /** Resolves when the kind's `run` has begun, up to its first wait. */
  async begun(): Promise<void> {
    await this.#begun.promise;
    await nextTurn();
  }

  /** Advances the bot's clock. Timers that are due within `ms` run in order, each with everything that it starts. */
  advance(ms: number): Promise<void> {
    return this.#clock.advance(ms);
  }

  /** Resolves when the condition holds: for what depends on real time, such as a connection. Rejects after `withinMs`. */
  async until(condition: () => boolean, withinMs = DEFAULT_WITHIN_MS): Promise<void> {
    if (condition()) return;
    const met = new Deferred();
    const watch = (): void => {
      if (condition()) met.resolve();
    };
    this.#watchers.add(watch);
    const late = (): never => {
      throw new Error(
        `the condition did not hold within ${withinMs} ms; the bot is ${this.status}`,
      );
    };
    await withTimeout(met.promise, withinMs, late).finally(() => this.#watchers.delete(watch));
  }

  /**
   * Runs a command as `POST /invoke` does: with checked arguments, and a result that is copied as JSON. Rejects with what that
   * would answer.
   */
  async invoke(command: string, args: JsonObject = {}): Promise<Json> {
    const given = structuredClone(args);
    (this.#run.offered?.args ?? this.#args).check(command, given);
    return this.#run.invoke({ command, args: given, timeoutMs: COMMAND_MS });
  }

  /** Stops the bot as a service does. Rejects when its run does not end within `withinMs` of real time. */
  async stop(withinMs = DEFAULT_WITHIN_MS): Promise<void> {
    this.#run.stop();
    await withTimeout(this.#run.ended, withinMs, () => {
      throw new Error(`the bot did not stop within ${withinMs} ms`);
    });
  }

  #changed(): void {
    for (const watch of this.#watchers) watch();
  }
}

const LATE = { level: 'error', scope: 'bot', transport: null, direction: null } as const;

/** Starts a bot of a kind. @returns it when its `run` has begun. @throws Error when its configuration is not valid. */
export async function startBot<Config = JsonObject, State = unknown>(
  kind: BotKind,
  options: TestOptions = {},
): Promise<TestBot<Config, State>> {
  const bot = new TestBot<Config, State>(kind, options);
  await bot.begun();
  return bot;
}

/** A context without a kind, for tests of functions that take one. Its `config` and `state` are those that are given. */
export async function testContext<Config extends JsonObject = JsonObject, State = undefined>(
  options: TestOptions & { state?: State } = {},
): Promise<TestBot<Config, State>> {
  const idle = defineBot({
    kind: 'test',
    config: Type.Object({}),
    state: () => options.state as State,
    run: (ctx) =>
      new Promise((resolve) =>
        ctx.signal.addEventListener('abort', () => resolve(), { once: true }),
      ),
  });
  return startBot<Config, State>(idle, options);
}
