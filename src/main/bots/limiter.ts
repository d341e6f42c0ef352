// Pure; used by main. Owns how many tasks of one sort run at a time.

export class Limiter {
  #free: number;
  /** First come, first served. Bounded by whoever asks. */
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  /** Runs the task when it is its turn, and settles as it does. */
  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free += 1;
    }
  }
}
