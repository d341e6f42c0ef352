// Runs in a bot host thread. Owns the status and `data` of one run, and publishes their changes.

import { visible } from '../shared/contract/escapes.js';
import { type BotSnapshot, SERVICE_STATUSES } from '../shared/contract/events.js';
import type { JsonObject } from '../shared/contract/json.js';
import type { HostedState } from '../shared/contract/threads.js';
import { botJson } from './bot-json.js';
import type { Outbox } from './outbox.js';
import type { SecretMask } from './secret-mask.js';

/** Changes of `data` within this time are published as one `session` event, in ms. */
const DATA_INTERVAL_MS = 100;
/** Largest `data` of a snapshot, as JSON, in bytes. */
const MAX_DATA_BYTES = 16_384;
/** Longest status, in UTF-16 units. */
const MAX_STATUS_UNITS = 64;
const RESERVED: readonly string[] = SERVICE_STATUSES;

export class RunStatus {
  readonly #id: string;
  readonly #outbox: Outbox;
  readonly #mask: SecretMask;
  readonly #logChange: (line: string) => void;
  #status = 'starting';
  #since = Date.now();
  #data: JsonObject = {};
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param logChange writes a line about a new status. */
  constructor(id: string, outbox: Outbox, mask: SecretMask, logChange: (line: string) => void) {
    this.#id = id;
    this.#outbox = outbox;
    this.#mask = mask;
    this.#logChange = logChange;
  }

  hostedState(): HostedState {
    return { id: this.#id, status: this.#status, since_ms: this.#since, data: this.#data };
  }

  /** Sets a status that the bot chose. The same status again does nothing. */
  choose(status: string): void {
    if (typeof status !== 'string' || status === '') {
      throw new TypeError('a status is a string that is not empty');
    }
    // Masked before it is cut: half a secret would not be recognized.
    const name = visible(this.#mask.text(status)).slice(0, MAX_STATUS_UNITS);
    if (name === this.#status) return;
    // They tell the service and its clients that the bot does not run.
    if (RESERVED.includes(name)) throw new RangeError(`the status ${name} is the service's own`);
    this.set(name);
  }

  /** Publishes the status, with all changes of `data` so far. */
  set(status: string): void {
    this.#cancelTimer();
    this.#logChange(`${this.#status} -> ${status}`);
    this.#status = status;
    this.#since = Date.now();
    this.#publish({ status, since_ms: this.#since, data: this.#data });
  }

  updateData(patch: JsonObject): void {
    if (this.#isClosed) return;
    const merged = { ...this.#data, ...patch };
    for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
    const json = botJson(merged, 'data') ?? '{}';
    const size = Buffer.byteLength(json);
    if (size > MAX_DATA_BYTES) {
      throw new RangeError(`data of ${size} bytes is too large, ${MAX_DATA_BYTES} are allowed`);
    }
    // Plain JSON can cross threads, and is a copy that the bot cannot change later.
    this.#data = this.#mask.json(JSON.parse(json) as JsonObject) as JsonObject;
    this.#timer ??= setTimeout(() => this.flush(), DATA_INTERVAL_MS);
  }

  flush(): void {
    if (this.#timer === undefined) return;
    this.#cancelTimer();
    this.#publish({ data: this.#data });
  }

  /** Nothing is published after this. */
  close(): void {
    this.#isClosed = true;
    this.#cancelTimer();
  }

  #cancelTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #publish(patch: Partial<BotSnapshot>): void {
    if (!this.#isClosed) this.#outbox.add({ kind: 'session', id: this.#id, patch });
  }
}
