// Pure; runs in the hub. Owns how many events came in each of the last seconds.

import type { Level } from '../../../src/client/index.js';
import type { Second } from './messages.js';

/** A quarter of an hour. */
export const KEPT_SECONDS = 900;
const COLUMN: Record<Level, number> = { info: 2, warn: 3, error: 4, state: 5 };
const OTHER = 6;

export class Seconds {
  #seconds: Second[] = [];

  /** @param level undefined for what is no line. */
  count(nowMs: number, level: Level | undefined): void {
    const at = Math.floor(nowMs / 1000);
    let last = this.#seconds.at(-1);
    // A clock that was set back: the events count where the clock was.
    if (!last || last[0] < at) {
      last = [at, 0, 0, 0, 0, 0, 0];
      this.#seconds.push(last);
      if (this.#seconds.length > KEPT_SECONDS) this.#seconds.shift();
    }
    last[1] += 1;
    const column = (level && COLUMN[level]) ?? OTHER;
    last[column] = (last[column] ?? 0) + 1;
  }

  /** Puts in what was counted elsewhere, before anything is counted here. */
  add(seconds: readonly Second[]): void {
    this.#seconds = [...this.#seconds, ...seconds].slice(-KEPT_SECONDS);
  }

  /** Those from `at` on, in s. */
  from(at: number): Second[] {
    let first = this.#seconds.length;
    while (first > 0 && (this.#seconds[first - 1]?.[0] ?? 0) >= at) first -= 1;
    return this.#seconds.slice(first);
  }

  clear(): void {
    this.#seconds = [];
  }
}
