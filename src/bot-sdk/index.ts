// The public package `drover/bot-sdk`: types and defineBot. The implementation is in src/bot-host.

import type { Json, JsonObject } from '../shared/contract/json.js';
import Type, { type Static, type TSchema } from '../shared/contract/typebox.js';

export { BotError, type BotErrorOptions } from './bot-error.js';
export type { Json, JsonObject, Static, TSchema };
/** TypeBox, for schemas. */
export { Type };

/**
 * Writes lines to the event stream, under one scope and the bot's id. The values are formatted as by `console.log`: objects two
 * levels deep, errors with their stack. A string alone is written as it is.
 */
export interface Logger {
  info(...values: unknown[]): void;
  warn(...values: unknown[]): void;
  error(...values: unknown[]): void;
  /** A line about the bot's own state. */
  state(...values: unknown[]): void;
  /** A wire message, sent or received (docs/INTERFACE.md §6.5): `message` is a display line. */
  wire(
    transport: 'tcp' | 'http',
    direction: 'outgoing' | 'incoming',
    message: string,
    options?: WireOptions,
  ): void;
  /** The same logger under another scope. */
  scope(name: string): Logger;
}

/** Options of a wire message. */
export interface WireOptions {
  /** The same for a request and its replies, and different for requests that wait at the same time. At most 128 characters. */
  correlationId?: string | undefined;
}

/** Options of {@link BotContext.fetch}: those of `fetch`, and: */
export interface FetchOptions extends RequestInit {
  /** Scope of the wire lines. Default `http`. */
  scope?: string;
  /** How long the request may take, its body included, in ms; then it rejects with a `TimeoutError`. Default: no limit. */
  timeout_ms?: number;
}

/** Options of {@link BotContext.connectTcp}. */
export interface TcpOptions {
  host: string;
  port: number;
  /** True for TLS, or its options. */
  tls?: boolean | { servername?: string; rejectUnauthorized?: boolean; ca?: string };
  /** Scope of the wire lines. Default `tcp`. */
  scope?: string;
}

/** A display line with what pairs it with other messages. */
export interface DescribedMessage extends WireOptions {
  message: string;
}

/** The display line of a message: its name and attributes, secrets redacted. Null logs nothing. */
export type Describe<Message> = (
  message: Message,
  direction: 'outgoing' | 'incoming',
) => string | DescribedMessage | null;

/** A TCP or TLS connection. Closed when the bot stops; iterating over it ends when the other side ends it. */
export interface TcpConnection extends AsyncIterable<Uint8Array> {
  /** Sends bytes and logs them. Resolves when the socket has accepted them; rejects when the connection is closed. */
  send(bytes: Uint8Array | string): Promise<void>;
  close(): void;
}

/** Options of {@link BotContext.connectLines}. */
export interface LineConnectionOptions extends TcpOptions {
  /** Longest line in bytes. Default 65,536. A longer one ends the connection with an error. */
  maxLineBytes?: number;
  /** The display line of a line. */
  describe: Describe<string>;
}

/** A TCP or TLS connection that carries one message per line. Closed when the bot stops. */
export interface LineConnection extends AsyncIterable<string> {
  /** Sends one line and logs it. Resolves when the socket has accepted it; rejects when the connection is closed. */
  send(line: string): Promise<void>;
  close(): void;
}

/** What a bot's code gets: the same object for `run` and for every command of one run. */
export interface BotContext<Config = JsonObject, State = unknown> {
  readonly id: string;
  /** Validated by the kind's schema, with defaults filled in. */
  readonly config: Config;
  /**
   * In a cluster: grows each time that the bot is given to a node, so what the bot talks to can refuse one of an older term. Null on
   * a single service.
   */
  readonly term: number | null;
  /** The result of the kind's `state` for this run. */
  readonly state: State;
  /** Aborted when the bot must stop. Pending calls of the methods below reject then. */
  readonly signal: AbortSignal;
  /** Scope `bot`. */
  readonly log: Logger;
  /**
   * Sets the bot's status: one `session` event and one line at level `state`. The same status again does nothing.
   * Throws for a status that the service reserves (`stopped`, `failed`, `deleted`, …).
   */
  setStatus(status: string): void;
  /** Merges into the snapshot's `data`. At most ten `session` events a second. `null` removes a field. */
  updateData(patch: JsonObject): void;
  /** Resolves after `ms`; rejects when the bot must stop. RangeError above 2^31 - 1 ms (24 days). */
  sleep(ms: number): Promise<void>;
  /**
   * Calls `task` every `ms` until the bot stops or the returned function is called. Does nothing when the bot is already
   * stopping. An error of `task` ends the run.
   */
  every(ms: number, task: () => void | Promise<void>): () => void;
  /** Calls `task` once, after `ms`. */
  after(ms: number, task: () => void | Promise<void>): () => void;
  /** `fetch` that logs the request and the response as wire lines. */
  fetch(url: string | URL, options?: FetchOptions): Promise<Response>;
  /** Opens a TCP or TLS connection whose messages are logged as wire lines by `describe`. */
  connectTcp(options: TcpOptions, describe: Describe<Uint8Array>): Promise<TcpConnection>;
  /** The same for a line protocol. */
  connectLines(options: LineConnectionOptions): Promise<LineConnection>;
}

/** One call of a command. */
export interface CommandCall {
  /**
   * Aborted when nobody waits for the result any more: the deadline has passed, the client of `POST /invoke` has
   * disconnected, or the bot must stop.
   */
  readonly signal: AbortSignal;
}

export type CommandResult = Json | undefined | Promise<Json | undefined>;

/** One command of a kind, for `POST /invoke`. */
export interface BotCommand<Args extends TSchema, Config, State> {
  description?: string;
  /** Schema of the arguments; must be an object's. */
  args: Args;
  /** Its result is the response; what it throws is the response's error. */
  run(ctx: BotContext<Config, State>, args: Static<Args>, call: CommandCall): CommandResult;
}

/** The argument of {@link defineBot}. */
export interface BotDefinition<
  Config extends TSchema,
  State,
  Args extends Record<string, TSchema>,
> {
  /** Unique name of the kind. */
  kind: string;
  description?: string;
  /** Schema of the configuration; must be an object's. */
  config: Config;
  /**
   * The status in which a bot is ready: a rollout continues when a bot has it. Without it a bot is ready when it has run for long
   * enough.
   */
  ready?: string;
  /** Creates the state that commands and `run` share, for each run. */
  state?: () => State;
  commands?: { [Name in keyof Args]: BotCommand<Args[Name], Static<Config>, State> };
  /** Runs the bot. It is done when this returns, and has failed when this throws. */
  run(ctx: BotContext<Static<Config>, State>): void | Promise<void>;
}

/** A defined kind without its specific types, for the bot host. */
export interface BotKind {
  kind: string;
  description: string;
  config: JsonObject;
  ready?: string;
  state: () => unknown;
  commands: Record<
    string,
    {
      description: string;
      args: JsonObject;
      run(ctx: BotContext, args: JsonObject, call: CommandCall): CommandResult;
    }
  >;
  run(ctx: BotContext): void | Promise<void>;
}

/** Defines a kind of bot; a kind's module exports the result as its default. */
export function defineBot<
  Config extends TSchema,
  State = undefined,
  Args extends Record<string, TSchema> = Record<string, never>,
>(definition: BotDefinition<Config, State, Args>): BotKind {
  const commands = Object.entries<BotCommand<TSchema, Static<Config>, State>>(
    // Kinds are not always TypeScript: what is missing is reported when the kind is loaded.
    definition?.commands ?? {},
  ).map(([name, command]) => [
    name,
    { description: '', ...command, args: command?.args as unknown as JsonObject },
  ]);
  // The only cast: main validates config and arguments with the schemas that these types come from, before the host gets
  // them.
  return {
    description: '',
    state: () => undefined,
    ...definition,
    commands: Object.fromEntries(commands),
  } as unknown as BotKind;
}
