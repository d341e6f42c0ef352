import { MINUTE_MS } from '../contract/incident-groups.js';

const HOUR_MINUTES = 60;
const DAY_MINUTES = 24 * HOUR_MINUTES;
const KEPT_MINUTES = 30 * DAY_MINUTES;

/**
 * How often something happened when: by the minute for a day, then by the hour, for 30 days. Bounded by that: at most 1,440
 * minutes and 720 hours. Owned by a group.
 */
export class Moments {
  /** Counts by minute since 1970, ascending. The count of an hour is stored at its first minute. */
  #counts: Map<number, number>;
  /** The last minute for which old counts were merged. */
  #tidied = 0;

  /** @param stored of {@link toJSON}. */
  constructor(stored: readonly number[] = []) {
    this.#counts = new Map();
    for (let at = 0; at + 1 < stored.length; at += 2) {
      this.#counts.set(stored[at] as number, stored[at + 1] as number);
    }
  }

  /** @param at in ms. Out of order only by little: an earlier time than the last one counts for the last one's hour or later. */
  add(at: number, times: number): void {
    const minute = Math.floor(at / MINUTE_MS);
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + times);
    if (minute - this.#tidied >= HOUR_MINUTES) this.#tidy(minute);
  }

  /** @param from the start of a minute, in ms. @returns how often in each of so many steps. */
  counts(from: number, stepMs: number, steps: number): number[] {
    const counts = new Array<number>(steps).fill(0);
    for (const [minute, times] of this.#counts) {
      const step = Math.floor((minute * MINUTE_MS - from) / stepMs);
      if (step >= 0 && step < steps) counts[step] = (counts[step] as number) + times;
    }
    return counts;
  }

  /** Minute, times, minute, times, … */
  toJSON(): number[] {
    return [...this.#counts].flat();
  }

  #tidy(now: number): void {
    this.#tidied = now;
    const merged = new Map<number, number>();
    for (const [minute, times] of [...this.#counts].sort(([a], [b]) => a - b)) {
      if (minute < now - KEPT_MINUTES) continue;
      const isOld = minute < now - DAY_MINUTES;
      const at = isOld ? minute - (minute % HOUR_MINUTES) : minute;
      merged.set(at, (merged.get(at) ?? 0) + times);
    }
    this.#counts = merged;
  }
}
