// A connection to the NATS servers of the cluster. Main and the bus thread have one each.

import { setTimeout as delay } from 'node:timers/promises';
import { Deferred } from '../../shared/deferred.js';
import { messageOf } from '../../shared/errors.js';
import { type ConnectionOptions, connect, type NatsConnection } from './nats.js';
import { type NatsConfig, natsOptions } from './nats-options.js';
import { reasonOf } from './reasons.js';

const RETRY_MS = 500;
const DIAL_TIMEOUT_MS = 5000;
/** Servers are asked this often whether they are there. Two questions without an answer end the connection: a partition has no reset. */
const PING_MS = 2000;
const PINGS = 2;
/** What readers of messages throw is said once in this, in ms: others can make it happen as often as they like. */
const SAID_MS = 60_000;

export interface NatsStatus {
  isConnected: boolean;
  /** Why it is not connected, in one line; null when it is, and before the first attempt has failed. */
  reason: string | null;
}

export interface NatsLinkOptions {
  config: NatsConfig;
  /** Shown by NATS's monitoring. */
  name: string;
  /** Called after each change of the status. */
  onChange: (status: NatsStatus) => void;
  /** A line for the operator. */
  say: (line: string) => void;
}

/**
 * How long ago the last attempt at a server has to be, in ms. The client compares that with the wall clock, and would wait for an hour
 * after one that was set back by an hour: so each time that is due by the monotonic clock the next attempt is made whenever the last was.
 */
function retries(): () => number {
  let dueAt = 0;
  return () => {
    const now = performance.now();
    if (now < dueAt) return RETRY_MS * (1 + Math.random());
    dueAt = now + RETRY_MS;
    return Number.NEGATIVE_INFINITY;
  };
}

/** Connects, and connects again for ever. */
export class NatsLink {
  readonly #options: ConnectionOptions;
  readonly #onChange: (status: NatsStatus) => void;
  readonly #say: (line: string) => void;
  #saidMs = Number.NEGATIVE_INFINITY;
  readonly #first = new Deferred<NatsConnection>();
  readonly #closing = new AbortController();
  #connection: NatsConnection | null = null;
  #status: NatsStatus = { isConnected: false, reason: null };

  /** @throws StartupError when the configuration is wrong: an address, or a file that cannot be read. Not when no server answers. */
  constructor({ config, name, onChange, say }: NatsLinkOptions) {
    this.#onChange = onChange;
    this.#say = say;
    this.#options = {
      ...natsOptions(config),
      name,
      timeout: DIAL_TIMEOUT_MS,
      maxReconnectAttempts: -1,
      reconnectDelayHandler: retries(),
      // Credentials can be put right on the server while this service runs.
      ignoreAuthErrorAbort: true,
      pingInterval: PING_MS,
      maxPingOut: PINGS,
      noAsyncTraces: true,
    };
    // A link that is closed before its first connection, and that nobody waits for.
    this.#first.promise.catch(() => {});
    void this.#start();
  }

  get status(): NatsStatus {
    return this.#status;
  }

  /** The one connection of this link, once there is one; it stays the same. Rejects only when the link is closed before that. */
  connected(): Promise<NatsConnection> {
    return this.#first.promise;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#first.reject(new Error('the link to NATS was closed'));
    await this.#connection?.close();
  }

  /** The client's own wait for the first connection does not say why it waits. */
  async #start(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        const connection = await connect(this.#options);
        if (signal.aborted) return await connection.close();
        this.#guard(connection);
        this.#connection = connection;
        void this.#follow(connection);
        this.#set({ isConnected: true, reason: null });
        this.#first.resolve(connection);
        return;
      } catch (thrown) {
        if (!signal.aborted) this.#set({ isConnected: false, reason: reasonOf(thrown) });
      }
      await delay(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  /** The client reads nothing more from a connection after a callback of any subscription has thrown. */
  #guard(connection: NatsConnection): void {
    const subscribe = connection.subscribe.bind(connection);
    connection.subscribe = (subject, options = {}) => {
      const { callback, ...rest } = options;
      if (!callback) return subscribe(subject, rest);
      return subscribe(subject, {
        ...rest,
        callback: (...told) => {
          try {
            callback(...told);
          } catch (thrown) {
            this.#failed(subject, thrown);
          }
        },
      });
    };
  }

  #failed(subject: string, thrown: unknown): void {
    const now = performance.now();
    if (now - this.#saidMs < SAID_MS) return;
    this.#saidMs = now;
    this.#say(`a message to ${subject} of NATS could not be handled: ${messageOf(thrown)}`);
  }

  async #follow(connection: NatsConnection): Promise<void> {
    for await (const event of connection.status()) {
      if (this.#closing.signal.aborted) return;
      if (event.type === 'reconnect') this.#set({ isConnected: true, reason: null });
      else if (event.type === 'disconnect' && this.#status.isConnected)
        // Each attempt that a server refuses ends with one too; then the refusal is the reason.
        this.#set({
          isConnected: false,
          reason: `the connection to the NATS server ${event.server} has ended`,
        });
      else if (event.type === 'error' && !this.#status.isConnected)
        this.#set({ isConnected: false, reason: reasonOf(event.error) });
    }
    const thrown = await connection.closed();
    if (!this.#closing.signal.aborted)
      this.#set({ isConnected: false, reason: reasonOf(thrown ?? new Error('closed')) });
  }

  #set(status: NatsStatus): void {
    const { isConnected, reason } = this.#status;
    if (isConnected === status.isConnected && reason === status.reason) return;
    this.#status = status;
    this.#onChange(status);
  }
}
