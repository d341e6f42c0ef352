// Runs in a bot host thread. Owns the timers, requests and connections of one run; all end with its signal.

import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { BotError } from '../bot-sdk/bot-error.js';
import type {
  BotContext,
  Describe,
  FetchOptions,
  LineConnection,
  LineConnectionOptions,
  Logger,
  TcpConnection,
  TcpOptions,
} from '../bot-sdk/index.js';
import type { RunTimeCommands } from '../bot-sdk/run-time-commands.js';
import type { JsonObject } from '../shared/contract/json.js';
import { MAX_TIMER_MS } from '../shared/contract/timers.js';
import type { NetworkRules } from '../shared/network-rules.js';
import { fetchAsBot } from './bot-fetch.js';
import { connectLines, connectTcp } from './connection.js';
import { type CurrentRun, runAsBot } from './current-bot.js';
import type { Fence } from './fence.js';
import { type LinkedSignal, linkSignals, releaseWith } from './linked-signal.js';
import type { RunStatus } from './run-status.js';

/** The parts of the platform that a context uses; unit tests of kinds replace them. */
export interface BotPlatform {
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** @returns a function that ends it. */
  every(ms: number, task: () => void): () => void;
  after(ms: number, task: () => void): () => void;
  fetch(url: URL, init: RequestInit): Promise<Response>;
}

export const PLATFORM: BotPlatform = {
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
  every(ms, task) {
    const timer = setInterval(task, ms);
    return () => clearInterval(timer);
  },
  after(ms, task) {
    const timer = setTimeout(task, ms);
    return () => clearTimeout(timer);
  },
  fetch: (url, init) => fetch(url, init),
};

/** Longest pause of a call after the signal to stop, in ms. */
const MAX_LATE_PAUSE_MS = 1000;

/** The context of a bot's code; the same object for `run` and for every command of one run. */
export class RunContext implements BotContext, RunTimeCommands {
  readonly id: string;
  readonly config: JsonObject;
  readonly term: number | null;
  readonly state: unknown;
  readonly signal: AbortSignal;
  readonly log: Logger;
  readonly #run: CurrentRun & RunTimeCommands;
  readonly #status: RunStatus;
  readonly #network: NetworkRules;
  readonly #platform: BotPlatform;
  readonly #fence: Fence | null;
  /** Calls since the signal to stop. */
  #lateCalls = 0;

  constructor(
    run: CurrentRun & RunTimeCommands,
    own: Pick<BotContext, 'config' | 'term' | 'state' | 'signal' | 'log'>,
    status: RunStatus,
    network: NetworkRules,
    platform = PLATFORM,
    fence: Fence | null = null,
  ) {
    this.id = run.id;
    this.config = own.config;
    this.term = own.term;
    this.state = own.state;
    this.signal = own.signal;
    this.log = own.log;
    this.#run = run;
    this.#status = status;
    this.#network = network;
    this.#platform = platform;
    this.#fence = fence;
  }

  setStatus(status: string): void {
    if (!this.signal.aborted) this.#status.choose(status);
  }

  updateData(patch: JsonObject): void {
    this.#status.updateData(patch);
  }

  offerCommands(commands: Parameters<RunTimeCommands['offerCommands']>[0]): void {
    if (!this.signal.aborted) this.#run.offerCommands(commands);
  }

  masked(text: string): string {
    return this.#run.masked(text);
  }

  checkLease(): void {
    this.#run.checkLease();
  }

  async sleep(ms: number): Promise<void> {
    checkWait(ms);
    if (this.signal.aborted) await this.#pauseLateCall();
    return this.#platform.sleep(ms, this.signal);
  }

  every(ms: number, task: () => void | Promise<void>): () => void {
    checkWait(ms);
    // Code that continues after the end must not start a timer that nothing clears.
    if (this.signal.aborted) return () => {};
    return this.#untilAborted(this.#platform.every(ms, () => void this.#attempt(task)));
  }

  after(ms: number, task: () => void | Promise<void>): () => void {
    checkWait(ms);
    if (this.signal.aborted) return () => {};
    const clear = this.#platform.after(ms, () => {
      cancel();
      void this.#attempt(task);
    });
    const cancel = this.#untilAborted(clear);
    return cancel;
  }

  async fetch(
    url: string | URL,
    { scope = 'http', timeout_ms, ...init }: FetchOptions = {},
  ): Promise<Response> {
    const log = this.log.scope(scope);
    const target = new URL(url);
    const link = this.#linked(init.signal, timeout_ms);
    const signal = link?.signal ?? this.signal;
    try {
      if (this.signal.aborted) await this.#pauseLateCall();
      // Checked before the line is written, because the request would not be sent.
      signal.throwIfAborted();
      const response = await fetchAsBot(
        target,
        { ...init, signal },
        log,
        this.#checkPlace,
        this.#platform.fetch,
        this.#fence,
      );
      // The body is still to come, and must end with the bot too.
      if (link) releaseWith(response.body ?? response, link);
      return response;
    } catch (thrown) {
      link?.release();
      throw thrown;
    }
  }

  /** The bot's signal with those of one request; undefined where that has none. A time limit goes by the clock of the bot. */
  #linked(
    own: AbortSignal | null | undefined,
    limitMs: number | undefined,
  ): LinkedSignal | undefined {
    if (limitMs === undefined) return own ? linkSignals(this.signal, own) : undefined;
    checkWait(limitMs);
    const limit = new AbortController();
    const clear = this.#platform.after(limitMs, () =>
      // Aborts with the error of AbortSignal.timeout.
      limit.abort(new DOMException(`no answer within ${limitMs} ms`, 'TimeoutError')),
    );
    const { signal, release } = linkSignals(this.signal, limit.signal, ...(own ? [own] : []));
    return {
      signal,
      release() {
        release();
        clear();
      },
    };
  }

  async connectTcp(options: TcpOptions, describe: Describe<Uint8Array>): Promise<TcpConnection> {
    await this.#checkConnection('connectTcp', options, describe);
    const log = this.log.scope(options.scope ?? 'tcp');
    return connectTcp(options, describe, log, this.signal, this.#fence);
  }

  async connectLines(options: LineConnectionOptions): Promise<LineConnection> {
    await this.#checkConnection('connectLines', options, options.describe);
    const log = this.log.scope(options.scope ?? 'tcp');
    return connectLines(options, log, this.signal, this.#fence);
  }

  /** @throws BotError for a mistake that another attempt would repeat. */
  async #checkConnection(call: string, options: TcpOptions, describe: unknown): Promise<void> {
    if (this.signal.aborted) await this.#pauseLateCall();
    try {
      const fault = connectionFault(options, describe);
      if (fault !== null) throw new BotError(`${call}: ${fault}`, { restart: false });
      this.#checkPlace(options.host, options.port);
    } catch (thrown) {
      // Lets the other bots run while a loop catches every error.
      await nextTurn();
      throw thrown;
    }
  }

  readonly #checkPlace = (host: string, port: number): void => {
    if (this.#network.allows(host, port)) return;
    // Another attempt would fail the same way.
    throw new BotError(`network.allow does not list ${host}:${port}`, { restart: false });
  };

  /**
   * A loop that catches every error calls again at once, without end: each such call lets the other bots of the host run, for
   * longer each time.
   */
  async #pauseLateCall(): Promise<void> {
    this.#lateCalls += 1;
    await delay(Math.min(this.#lateCalls, MAX_LATE_PAUSE_MS));
  }

  async #attempt(task: () => void | Promise<void>): Promise<void> {
    try {
      await runAsBot(this.#run, task);
    } catch (thrown) {
      this.#run.fail(thrown);
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
}

const CONNECTION_KEYS = ['host', 'port', 'tls', 'scope', 'describe', 'maxLineBytes'];

/** The fault in the options of a connection, for the author of the kind; null for none. */
function connectionFault(options: TcpOptions, describe: unknown): string | null {
  const faults: string[] = [];
  const { host, port } = options as { host?: unknown; port?: unknown };
  if (typeof host !== 'string') faults.push(`host must be a string, not ${typeof host}`);
  if (typeof port !== 'number' && !/^\d+$/.test(String(port))) {
    faults.push(`port must be a number, not ${typeof port}`);
  }
  if (typeof describe !== 'function') {
    faults.push('describe is missing: a function from a message to its wire line, without secrets');
  }
  if (faults.length === 0) return null;
  const unknown = Object.keys(options).filter((key) => !CONNECTION_KEYS.includes(key));
  return [...faults, ...unknown.map((key) => `there is no option ${key}`)].join('; ');
}

function checkWait(ms: number): void {
  if (ms <= MAX_TIMER_MS) return;
  throw new RangeError(`a wait of ${ms} ms is too long, ${MAX_TIMER_MS} are allowed`);
}
