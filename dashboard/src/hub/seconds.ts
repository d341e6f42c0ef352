import type { Level } from '../../../src/client/index.js';
import type { Second } from './messages.js';

/** 15 minutes. */
export const MAX_SECONDS = 900;
const COLUMN: Record<Level, number> = { info: 2, warn: 3, error: 4, state: 5 };
const OTHER = 6;

/** Event counts of the last seconds. */
export class Seconds {
  #seconds: Second[] = [];
  /** The first second that is counted completely, in Unix epoch s; null before counting begins. */
  since: number | null = null;

  /** The stream is open: what comes from now on is counted. */
  begin(nowMs: number): void {
    this.since ??= Math.floor(nowMs / 1000) + 1;
  }

  /** @param level undefined for other events than log lines. */
  count(nowMs: number, level: Level | undefined): void {
    const at = Math.floor(nowMs / 1000);
    let last = this.#seconds.at(-1);
    // If the clock is set back, events still count for the latest second.
    if (!last || last[0] < at) {
      last = [at, 0, 0, 0, 0, 0, 0];
      this.#seconds.push(last);
      if (this.#seconds.length > MAX_SECONDS) this.#seconds.shift();
    }
    last[1] += 1;
    const column = (level && COLUMN[level]) ?? OTHER;
    last[column] = (last[column] ?? 0) + 1;
  }

  /** Restores earlier counts, before anything is counted here. */
  add(seconds: readonly Second[], since: number | null): void {
    this.since = since;
    this.#seconds = [...this.#seconds, ...seconds].slice(-MAX_SECONDS);
  }

  /** Counts from the second `at`. */
  from(at: number): Second[] {
    let first = this.#seconds.length;
    while (first > 0 && (this.#seconds[first - 1]?.[0] ?? 0) >= at) first -= 1;
    return this.#seconds.slice(first);
  }

  clear(): void {
    this.#seconds = [];
    this.since = null;
  }
}
