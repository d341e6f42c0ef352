// Runs in the relay thread. Owns the pace of what one bot host process may say on one pipe, beside what answers the service: a
// process that says more is not read for a while.

/** What a host may say in a second, and at once: messages, and one more for each KB of them. A host of 10,000 bots says 350. */
const PER_SECOND = 1000;
const BURST = 5000;
const UNIT_BYTES = 1024;

export class Pace {
  readonly #hold: (is: boolean) => void;
  #left = BURST;
  #filledAt = performance.now();
  #timer: NodeJS.Timeout | undefined;

  /** @param hold whether no more is to be read. */
  constructor(hold: (is: boolean) => void) {
    this.#hold = hold;
  }

  /** A message of so many bytes has come. */
  spend(bytes: number): void {
    this.#fill();
    this.#left -= 1 + bytes / UNIT_BYTES;
    if (this.#left >= 0 || this.#timer !== undefined) return;
    this.#hold(true);
    this.#wait();
  }

  /** The process is gone: what it has sent is read at any pace. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#left = Number.POSITIVE_INFINITY;
  }

  #fill(): void {
    const now = performance.now();
    const filled = this.#left + ((now - this.#filledAt) / 1000) * PER_SECOND;
    if (filled !== Number.POSITIVE_INFINITY) this.#left = Math.min(BURST, filled);
    this.#filledAt = now;
  }

  #wait(): void {
    const waitMs = Math.ceil((-this.#left / PER_SECOND) * 1000) + 1;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#fill();
      // What was on its way in the meantime counts too.
      if (this.#left < 0) this.#wait();
      else this.#hold(false);
    }, waitMs);
  }
}
