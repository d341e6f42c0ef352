import type { Lag } from './messages.js';

/** The least delay of a window of this length, in ms, counts: one slow bot, or one node with another clock, is not a lag of the stream. */
const WINDOW_MS = 1000;

/** How long lines take from the bot to this browser, by the service's clock. */
export class StreamLag {
  /** Of the last whole window; null before the first. */
  now: Lag | null = null;
  #windowStart = 0;
  #least = Number.POSITIVE_INFINITY;

  /** @param ms between a line and its arrival. @param nowMs by the clock of this machine. @returns whether {@link now} has changed. */
  note(ms: number, nowMs: number): boolean {
    const age = nowMs - this.#windowStart;
    // Also when the clock was set back.
    if (age >= WINDOW_MS || age < 0) {
      const before = this.now;
      // After a pause the previous window is out of date.
      const least = age < 2 * WINDOW_MS ? this.#least : Math.max(0, ms);
      this.now = { ms: least, atMs: nowMs };
      this.#windowStart = nowMs;
      this.#least = Math.max(0, ms);
      return before?.ms !== this.now.ms;
    }
    this.#least = Math.min(this.#least, Math.max(0, ms));
    return false;
  }

  clear(): void {
    this.now = null;
    this.#windowStart = 0;
    this.#least = Number.POSITIVE_INFINITY;
  }
}
