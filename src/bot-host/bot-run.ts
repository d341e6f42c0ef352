// Runs in a bot host thread. Owns one run of one bot: its context, its timers and connections, its end.

import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type {
  BotContext,
  BotKind,
  Describe,
  FetchOptions,
  LineConnection,
  LineConnectionOptions,
  Logger,
  TcpConnection,
  TcpOptions,
} from '../bot-sdk/index.js';
import { type BotSnapshot, SERVICE_STATUSES } from '../shared/contract/events.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import type { BotExit, HostedState } from '../shared/contract/threads.js';
import { MAX_TIMER_MS } from '../shared/contract/timers.js';
import { DroverError, messageOf } from '../shared/errors.js';
import type { BotLines } from './bot-lines.js';
import { BotLogger } from './bot-logger.js';
import { connectLines, connectTcp } from './connection.js';
import { type CurrentRun, runAsBot } from './current-bot.js';
import { linkSignals, releaseWith } from './linked-signal.js';
import type { Outbox } from './outbox.js';
import { redactText, redactUrl } from './redact.js';

/** Longest that a change of `data` waits for others to join it in one `session` event, in ms. */
const DATA_INTERVAL_MS = 100;
/** Largest `data` of a snapshot, as JSON, in bytes. */
const MAX_DATA_BYTES = 16_384;
/** Largest result of a command, as JSON, in bytes: it crosses two threads on its way. */
const MAX_RESULT_BYTES = 1_048_576;
/** Longest status, and how much of an error and of its stack is kept, in UTF-16 units. */
const MAX_STATUS_UNITS = 64;
const MAX_ERROR_UNITS = 8192;
const MAX_STACK_UNITS = 16_384;
const CANCELLED = 'nobody waits for the answer any more';
const RESERVED: readonly string[] = SERVICE_STATUSES;

/** How a run ended: `error` is null when it returned or was asked to stop. */
export type RunEnd = Omit<BotExit, 'id' | 'run'>;

export class BotRun implements BotContext, CurrentRun {
  readonly id: string;
  readonly number: number;
  readonly config: JsonObject;
  readonly state: unknown;
  readonly log: Logger;
  readonly #kind: BotKind;
  readonly #outbox: Outbox;
  readonly #lines: BotLines;
  readonly #abort = new AbortController();
  /** Resolves when the run has ended. Never rejects. */
  readonly ended: Promise<RunEnd>;
  /** Resolves when the kind's `run` has returned or thrown: later than {@link ended} when it ignores its signal. */
  readonly settled: Promise<void>;
  #settle: () => void = () => {};
  #fail: (error: unknown) => void = () => {};
  #status = 'starting';
  #since = Date.now();
  #data: JsonObject = {};
  /** Nothing of it is heard any more. */
  #silent = false;
  #dataTimer: NodeJS.Timeout | undefined;

  constructor(
    kind: BotKind,
    id: string,
    number: number,
    config: JsonObject,
    outbox: Outbox,
    lines: BotLines,
  ) {
    this.#kind = kind;
    this.#outbox = outbox;
    this.id = id;
    this.number = number;
    this.config = config;
    // Each timer, request and connection listens; their number is the bot's own business.
    setMaxListeners(0, this.#abort.signal);
    this.log = new BotLogger(lines, 'bot');
    this.#lines = lines;
    this.state = this.#makeState();
    this.settled = new Promise((resolve) => {
      this.#settle = resolve;
    });
    this.ended = this.#live();
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  setStatus(status: string): void {
    if (typeof status !== 'string' || status === '') {
      throw new TypeError('a status is a string that is not empty');
    }
    const name = status.slice(0, MAX_STATUS_UNITS);
    if (name === this.#status || this.signal.aborted) return;
    // To the service and its clients they say that the bot does not run.
    if (RESERVED.includes(name)) throw new RangeError(`the status ${name} is the service's own`);
    this.#setStatus(name);
  }

  updateData(patch: JsonObject): void {
    if (this.#silent) return;
    const merged = { ...this.#data, ...patch };
    for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
    const json = JSON.stringify(merged);
    const size = Buffer.byteLength(json);
    if (size > MAX_DATA_BYTES) {
      throw new RangeError(`data of ${size} bytes is too large, ${MAX_DATA_BYTES} are allowed`);
    }
    // A copy, and plain JSON: what the bot goes on changing, or what cannot leave the thread, is not in it.
    this.#data = JSON.parse(json) as JsonObject;
    this.#dataTimer ??= setTimeout(() => this.#flushData(), DATA_INTERVAL_MS);
  }

  async sleep(ms: number): Promise<void> {
    checkWait(ms);
    return delay(ms, undefined, { signal: this.signal });
  }

  every(ms: number, task: () => void | Promise<void>): () => void {
    checkWait(ms);
    // As one made just before the end: what goes on after it must not tick for ever.
    if (this.signal.aborted) return () => {};
    const timer = setInterval(() => void this.#attempt(task), ms);
    return this.#untilAborted(() => clearInterval(timer));
  }

  after(ms: number, task: () => void | Promise<void>): () => void {
    checkWait(ms);
    if (this.signal.aborted) return () => {};
    const timer = setTimeout(() => {
      cancel();
      void this.#attempt(task);
    }, ms);
    const cancel = this.#untilAborted(() => clearTimeout(timer));
    return cancel;
  }

  async fetch(
    url: string | URL,
    { scope = 'http', ...init }: FetchOptions = {},
  ): Promise<Response> {
    const log = this.log.scope(scope);
    const line = `${(init.method ?? 'GET').toUpperCase()} ${redactUrl(new URL(url))}`;
    const link = init.signal ? linkSignals(this.signal, init.signal) : undefined;
    const signal = link?.signal ?? this.signal;
    // It would not be sent.
    signal.throwIfAborted();
    log.wire('http', 'outgoing', line);
    let response: Response;
    try {
      response = await fetch(url, { ...init, signal });
    } catch (thrown) {
      link?.release();
      log.info(`${line} failed: ${redactText(explain(thrown))}`);
      throw thrown;
    }
    // The body is still to come, and is to end with the bot too.
    if (link) releaseWith(response.body ?? response, link);
    log.wire('http', 'incoming', `${response.status} ${line}`);
    return response;
  }

  connectTcp(options: TcpOptions, describe: Describe<Uint8Array>): Promise<TcpConnection> {
    return connectTcp(options, describe, this.log.scope(options.scope ?? 'tcp'), this.signal);
  }

  connectLines(options: LineConnectionOptions): Promise<LineConnection> {
    return connectLines(options, this.log.scope(options.scope ?? 'tcp'), this.signal);
  }

  hostedState(): HostedState {
    return { id: this.id, status: this.#status, since_ms: this.#since, data: this.#data };
  }

  /** Asks the bot to stop; {@link ended} tells when it has. */
  stop(): void {
    if (this.signal.aborted) return;
    this.#setStatus('stopping');
    this.#abort.abort(new DroverError('conflict', 'the bot is stopping'));
  }

  /**
   * Runs a command; rejects with `command_failed`, `not_found`, or `no_answer` after `timeoutMs`.
   * @param cancelled is aborted when nobody waits any more.
   */
  async invoke(
    name: string,
    args: JsonObject,
    timeoutMs: number,
    cancelled?: AbortSignal,
  ): Promise<Json> {
    const command = Object.hasOwn(this.#kind.commands, name)
      ? this.#kind.commands[name]
      : undefined;
    if (!command) throw new DroverError('not_found', `no command ${JSON.stringify(name)}`);
    const call = new AbortController();
    const ended = new Promise<never>((_, reject) => {
      call.signal.addEventListener('abort', () => reject(call.signal.reason));
    });
    const stop = (): void => call.abort(new DroverError('conflict', `bot ${this.id} has stopped`));
    const cancel = (): void => call.abort(new DroverError('no_answer', CANCELLED));
    const deadline = setTimeout(() => {
      call.abort(new DroverError('no_answer', `${name} did not answer within ${timeoutMs} ms`));
    }, timeoutMs);
    // By hand and not by AbortSignal.any: that keeps a little of each call for as long as the bot lives.
    this.signal.addEventListener('abort', stop);
    cancelled?.addEventListener('abort', cancel);
    if (cancelled?.aborted) cancel();
    const result = runAsBot(this, async () => {
      try {
        return toJson(await command.run(this, args, { signal: call.signal }), this.#lines);
      } catch (thrown) {
        throw new DroverError('command_failed', shownError(thrown, this.#lines));
      }
    });
    try {
      return await Promise.race([result, ended]);
    } finally {
      clearTimeout(deadline);
      this.signal.removeEventListener('abort', stop);
      cancelled?.removeEventListener('abort', cancel);
    }
  }

  /** Something that the bot started has thrown where nobody catches it. */
  fail(thrown: unknown): void {
    if (!this.signal.aborted) this.#fail(thrown);
  }

  /** It did not stop in time. Whatever it still does, nothing of it is heard: its successor has its name. */
  abandon(): void {
    this.#silent = true;
    clearTimeout(this.#dataTimer);
    this.#lines.close();
  }

  /** @throws DroverError with a message that may be shown: it is why the bot could not be started, and main keeps it. */
  #makeState(): unknown {
    try {
      return runAsBot(this, () => this.#kind.state());
    } catch (thrown) {
      throw new DroverError('internal', shownError(thrown, this.#lines));
    }
  }

  async #live(): Promise<RunEnd> {
    const failed = new Promise<never>((_, reject) => {
      this.#fail = reject;
    });
    // It may also fail when nobody waits for it any more.
    failed.catch(() => {});
    let end: RunEnd = { error: null, stack: null, restart: true };
    try {
      // In a task of its own: the constructor has returned and the start is answered before bot code runs.
      await delay(0);
      const life = runAsBot(this, async () => this.#kind.run(this));
      life.then(this.#settle, this.#settle);
      await Promise.race([life, failed]);
    } catch (thrown) {
      // While it stops, every pending call rejects: that is how a bot ends, not a failure.
      if (!this.signal.aborted) end = failure(thrown, this.#lines);
    }
    this.#abort.abort(new DroverError('conflict', 'the bot has ended'));
    this.#flushData();
    // What it has left behind is not heard: its end is announced next, and then it may be deleted.
    this.#silent = true;
    this.#lines.close();
    return end;
  }

  async #attempt(task: () => void | Promise<void>): Promise<void> {
    try {
      await runAsBot(this, task);
    } catch (thrown) {
      this.fail(thrown);
    }
  }

  /** Calls `release` when the bot stops, or when the returned function is called before that. */
  #untilAborted(release: () => void): () => void {
    this.signal.addEventListener('abort', release, { once: true });
    return () => {
      this.signal.removeEventListener('abort', release);
      release();
    };
  }

  #setStatus(status: string): void {
    clearTimeout(this.#dataTimer);
    this.#dataTimer = undefined;
    this.log.state(`${this.#status} -> ${status}`);
    this.#status = status;
    this.#since = Date.now();
    this.#patch({ status, since_ms: this.#since, data: this.#data });
  }

  #flushData(): void {
    if (this.#dataTimer === undefined) return;
    clearTimeout(this.#dataTimer);
    this.#dataTimer = undefined;
    this.#patch({ data: this.#data });
  }

  #patch(patch: Partial<BotSnapshot>): void {
    if (this.#silent) return;
    this.#outbox.add({ kind: 'session', id: this.id, patch });
  }
}

function checkWait(ms: number): void {
  if (ms <= MAX_TIMER_MS) return;
  throw new RangeError(`a wait of ${ms} ms is too long, ${MAX_TIMER_MS} are allowed`);
}

/**
 * A command's result as plain JSON, so that what it returned cannot change or fail to cross threads later, and without
 * the bot's secrets.
 */
function toJson(result: unknown, lines: BotLines): Json {
  const text = JSON.stringify(result);
  if (text === undefined) return null;
  const size = Buffer.byteLength(text);
  if (size > MAX_RESULT_BYTES) {
    throw new RangeError(`a result of ${size} bytes is too large, ${MAX_RESULT_BYTES} are allowed`);
  }
  const show = (_: string, value: Json): Json =>
    typeof value === 'string' ? lines.shown(value) : value;
  return JSON.parse(text, lines.hasSecrets ? show : undefined) as Json;
}

/** The message of what was thrown, and in brackets what it says besides: the code of a BotError, and its cause. */
function explain(thrown: unknown): string {
  const message = messageOf(thrown);
  try {
    const { name, code, cause } = (thrown ?? {}) as Record<string, unknown>;
    const more: string[] = [];
    if (name === 'BotError' && typeof code === 'string') more.push(`code ${code}`);
    if (cause instanceof Error) more.push(`cause: ${messageOf(cause)}`);
    return more.length === 0 ? message : `${message} (${more.join(', ')})`;
  } catch {
    return message;
  }
}

function shownError(thrown: unknown, lines: BotLines): string {
  return lines.shown(redactText(explain(thrown)));
}

/** The end of a run that threw; what it threw can be anything. */
function failure(thrown: unknown, lines: BotLines): RunEnd {
  const error = shownError(thrown, lines).slice(0, MAX_ERROR_UNITS);
  try {
    const { stack, restart } = (thrown ?? {}) as { stack?: unknown; restart?: unknown };
    return {
      error,
      // Its first line is the message.
      stack:
        typeof stack === 'string' ? lines.shown(redactText(stack)).slice(0, MAX_STACK_UNITS) : null,
      // A BotError, which may come from another copy of the SDK than this one.
      restart: restart !== false,
    };
  } catch {
    return { error, stack: null, restart: true };
  }
}
