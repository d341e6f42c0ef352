// Runs in the relay thread. Owns the count of bytes that one process has sent on its channel for events: tells the process what
// the broadcaster has taken of them, and holds up a process that does not keep to its bound.

import type { InFlight } from '../shared/memory/in-flight.js';

/** The process is told after so much of its bound, not after each batch. */
const TELL_SHARE = 1 / 16;
/** At so many times its bound no more is read. The process itself waits at four times (src/bot-host/outbox.ts). */
const HOLD_FACTOR = 8;
/** How often it looks while the broadcaster has much to take, in ms. */
const LOOK_MS = 2;

export interface CreditEvents {
  /** The broadcaster has taken so many bytes until now, in all. */
  taken(bytes: number): void;
  /** Whether more is to be read. */
  hold(is: boolean): void;
}

export class BatchCredit {
  readonly #inFlight: InFlight;
  readonly #limit: number;
  readonly #events: CreditEvents;
  #posted = 0;
  #told = 0;
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param limit the bound of the process, in bytes. */
  constructor(inFlight: InFlight, limit: number, events: CreditEvents) {
    this.#inFlight = inFlight;
    this.#limit = limit;
    this.#events = events;
  }

  /** Before a batch is posted. */
  post(bytes: number): void {
    this.#inFlight.add(bytes);
    this.#posted += bytes;
    if (this.#timer === undefined) this.#look();
  }

  /** The channel is of no use any more. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isHeld) this.#events.hold(false);
    this.#isHeld = false;
  }

  readonly #look = (): void => {
    this.#timer = undefined;
    const inFlight = this.#inFlight.bytes;
    const step = this.#limit * TELL_SHARE;
    const taken = this.#posted - inFlight;
    if (taken - this.#told >= step) {
      this.#told = taken;
      this.#events.taken(taken);
    }
    const isHeld = inFlight > this.#limit * HOLD_FACTOR;
    if (isHeld !== this.#isHeld) {
      this.#isHeld = isHeld;
      this.#events.hold(isHeld);
    }
    // Else the process has all but a step of its bound, and needs to know nothing.
    if (this.#posted - this.#told >= step) this.#timer = setTimeout(this.#look, LOOK_MS);
  };
}
