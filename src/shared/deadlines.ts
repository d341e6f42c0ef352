/**
 * Calls `late` for each entry that is still here `afterMs` after it was added. All entries share one timer, and the time is the
 * same for all: the oldest is always the first. An entry that is removed in time leaves the timer as it is, which then fires
 * once for nothing; without entries none is set.
 */
export class Deadlines<T extends object> {
  readonly #afterMs: number;
  readonly #late: (entry: T) => void;
  /** The deadline of each entry, by performance.now(), the oldest first. */
  readonly #entries = new Map<T, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(afterMs: number, late: (entry: T) => void) {
    this.#afterMs = afterMs;
    this.#late = late;
  }

  add(entry: T): void {
    this.#entries.set(entry, performance.now() + this.#afterMs);
    if (!this.#timer) this.#wait(this.#afterMs);
  }

  remove(entry: T): void {
    this.#entries.delete(entry);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#entries.clear();
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#check(), ms);
    // This timer does not keep the thread alive: that is up to the code that waits.
    this.#timer.unref();
  }

  #check(): void {
    this.#timer = undefined;
    const now = performance.now();
    for (const [entry, at] of this.#entries) {
      if (at > now) {
        // Rounded up: a timer counts whole milliseconds, and one that fires early would be set again.
        if (!this.#timer) this.#wait(Math.ceil(at - now));
        return;
      }
      this.#entries.delete(entry);
      this.#late(entry);
    }
  }
}
