// Runs in a bot host thread. Owns the status and `data` of one run, and publishes their changes.

import { visible } from '../shared/contract/escapes.js';
import { type BotSnapshot, SERVICE_STATUSES } from '../shared/contract/events.js';
import { pathOfInexact } from '../shared/contract/exact-json.js';
import type { HostedState } from '../shared/contract/host-messages.js';
import type { JsonObject } from '../shared/contract/json.js';
import { cut } from '../shared/contract/line-text.js';
import { botJson } from './bot-json.js';
import type { BotLines } from './bot-lines.js';
import { LineBudget } from './line-budget.js';
import type { Outbox } from './outbox.js';

/** Changes of `data` within this time are published as one `session` event, in ms. */
const DATA_INTERVAL_MS = 100;
/** Largest `data` of a snapshot, as JSON, in bytes. */
const MAX_DATA_BYTES = 16_384;
/** Longest status, in UTF-16 units. */
const MAX_STATUS_UNITS = 64;
/** New statuses above this are published every DATA_INTERVAL_MS, the last one of each interval. */
const CHANGES_PER_SECOND = 100;
const RESERVED: readonly string[] = SERVICE_STATUSES;

/** The status in which a bot is ready, and who is told when it first has it. */
export interface Ready {
  status: string | undefined;
  reached: () => void;
}

export class RunStatus {
  readonly #id: string;
  readonly #outbox: Outbox;
  readonly #lines: Pick<BotLines, 'mask' | 'state' | 'skip'>;
  readonly #budget = new LineBudget(CHANGES_PER_SECOND);
  #status = 'starting';
  /** The status that was published last. */
  #shown = 'starting';
  #since = Date.now();
  #data: JsonObject = {};
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Undefined once the bot was ready. */
  #ready: Ready | undefined;

  constructor(
    id: string,
    outbox: Outbox,
    lines: Pick<BotLines, 'mask' | 'state' | 'skip'>,
    ready?: Ready,
  ) {
    this.#ready = ready;
    this.#id = id;
    this.#outbox = outbox;
    this.#lines = lines;
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
    const name = cut(visible(this.#lines.mask.text(status)), MAX_STATUS_UNITS);
    if (name === this.#status) return;
    if (name === this.#ready?.status) {
      this.#ready.reached();
      this.#ready = undefined;
    }
    // These statuses tell the service and its clients that the bot does not run.
    if (RESERVED.includes(name)) throw new RangeError(`the status ${name} is the service's own`);
    if (this.#budget.spend(Date.now())) {
      this.set(name);
      return;
    }
    if (this.#status !== this.#shown)
      this.#lines.skip('statuses were skipped: rate limit exceeded');
    this.#status = name;
    this.#since = Date.now();
    this.#timer ??= setTimeout(() => this.flush(), DATA_INTERVAL_MS);
  }

  /** Publishes the status, with all changes of `data` so far. */
  set(status: string): void {
    this.#cancelTimer();
    this.#lines.state(`${this.#shown} -> ${status}`);
    this.#status = status;
    this.#shown = status;
    this.#since = Date.now();
    this.#publish({ status, since_ms: this.#since, data: this.#data });
  }

  updateData(patch: JsonObject): void {
    if (this.#isClosed) return;
    const merged = { ...this.#data, ...patch };
    for (const [name, value] of Object.entries(merged)) if (value === null) delete merged[name];
    const json = botJson(merged, 'data') ?? '{}';
    const inexact = pathOfInexact(json, 'data');
    if (inexact !== undefined) throw new TypeError(inexact);
    const size = Buffer.byteLength(json);
    if (size > MAX_DATA_BYTES) {
      throw new RangeError(`data of ${size} bytes is too large, ${MAX_DATA_BYTES} are allowed`);
    }
    // Plain JSON can cross threads, and is a copy that the bot cannot change later.
    this.#data = this.#lines.mask.json(JSON.parse(json) as JsonObject) as JsonObject;
    this.#timer ??= setTimeout(() => this.flush(), DATA_INTERVAL_MS);
  }

  flush(): void {
    if (this.#timer === undefined) return;
    if (this.#status !== this.#shown) {
      this.set(this.#status);
      return;
    }
    this.#cancelTimer();
    this.#publish({ data: this.#data });
  }

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
