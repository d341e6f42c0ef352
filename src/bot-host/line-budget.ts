/** A token bucket that holds the lines of one second, full at first. */
export class LineBudget {
  readonly #perSecond: number;
  #left: number;
  #filledAt = Date.now();

  /** @param perSecond 0 for no limit. */
  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#left = perSecond;
  }

  /** The part of the budget that was left after the last line, 0 to 1. */
  get share(): number {
    return this.#perSecond === 0 ? 1 : this.#left / this.#perSecond;
  }

  /** Takes one line. @param now in ms. @returns false when there is none. */
  spend(now: number): boolean {
    if (this.#perSecond === 0) return true;
    if (now > this.#filledAt) {
      const refill = ((now - this.#filledAt) / 1000) * this.#perSecond;
      this.#left = Math.min(this.#perSecond, this.#left + refill);
    }
    this.#filledAt = now;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }
}
