import type { Config } from '../../shared/contract/config.js';
import type { Scheme } from '../http/forwarded.js';
import { redactTarget } from '../http/redact-target.js';

/** How long lines are collected before they are sent, in ms. */
const FLUSH_MS = 50;
/** Most lines that wait. Further ones are dropped and counted, and a line reports the count. */
const MAX_WAITING = 5000;

/** Longest method, in characters: clients can send any. */
const MAX_METHOD = 16;

/** A request as logged. */
export interface LoggedRequest {
  method: string;
  path: string;
  query: string;
  address: string;
  scheme: Scheme;
  /** Id of its token, undefined without a valid one. */
  token: string | undefined;
  status: number;
  /** Time to the response, or to the start of a stream, in ms. */
  ms: number;
}

/** Runs in a front thread. Owns the lines of the access log that main has not received yet. */
export class AccessLog {
  readonly #mode: Config['log']['access'];
  readonly #pin: string | null;
  readonly #write: (text: string) => void;
  #waiting: string[] = [];
  #skipped = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param write takes whole lines. */
  constructor(mode: Config['log']['access'], pin: string | null, write: (text: string) => void) {
    this.#mode = mode;
    this.#pin = pin;
    this.#write = write;
  }

  get isOn(): boolean {
    return this.#mode !== 'off';
  }

  /** Logs every request, not only those that fail. */
  get logsAll(): boolean {
    return this.#mode === 'all';
  }

  add({ method, path, query, address, scheme, token, status, ms }: LoggedRequest): void {
    if (this.#mode === 'off' || (this.#mode === 'errors' && status < 400)) return;
    this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
    if (this.#waiting.length >= MAX_WAITING) {
      this.#skipped += 1;
      return;
    }
    const target = redactTarget(path, query, this.#pin);
    const at = new Date().toISOString();
    this.#waiting.push(
      `${at} ${address} ${token ?? '-'} ${method.slice(0, MAX_METHOD)} ${target} ${status} ${ms.toFixed(1)}ms ${scheme}\n`,
    );
  }

  /** Sends the lines that wait. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#skipped > 0) {
      this.#waiting.push(`${new Date().toISOString()} ${this.#skipped} requests are left out\n`);
    }
    if (this.#waiting.length > 0) this.#write(this.#waiting.join(''));
    this.#waiting = [];
    this.#skipped = 0;
  }
}
