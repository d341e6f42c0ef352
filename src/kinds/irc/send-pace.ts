// Runs in bot hosts. Owns the lines that wait to be sent: servers disconnect clients that send too fast.

import type { BotContext } from '../../bot-sdk/index.js';

/** Lines that may be sent at once. Enough to register and to join some channels. */
const BURST = 10;
/** Interval between lines after that, in ms. */
const LINE_MS = 500;
/** Lines that may wait. More are dropped. */
const MAX_WAITING = 20;

/** A token bucket for one connection. */
export class SendPace {
  readonly #after: BotContext['after'];
  readonly #send: (line: string) => void;
  readonly #waiting: string[] = [];
  #budget = BURST;
  #filledAt = performance.now();
  #cancel: (() => void) | undefined;

  constructor(after: BotContext['after'], send: (line: string) => void) {
    this.#after = after;
    this.#send = send;
  }

  get hasRoom(): boolean {
    return this.#waiting.length < MAX_WAITING;
  }

  /** @returns false when too many lines wait and this one is dropped. */
  add(line: string): boolean {
    if (!this.hasRoom) return false;
    this.#waiting.push(line);
    if (!this.#cancel) this.#sendDue();
    return true;
  }

  /** Drops the lines that wait. */
  stop(): void {
    this.#cancel?.();
    this.#waiting.length = 0;
  }

  #sendDue(): void {
    const now = performance.now();
    this.#budget = Math.min(BURST, this.#budget + (now - this.#filledAt) / LINE_MS);
    this.#filledAt = now;
    while (this.#budget >= 1 && this.#waiting.length > 0) {
      this.#budget -= 1;
      this.#send(this.#waiting.shift() ?? '');
    }
    this.#cancel = undefined;
    if (this.#waiting.length > 0) {
      this.#cancel = this.#after(LINE_MS * (1 - this.#budget), () => this.#sendDue());
    }
  }
}
