// Runs in the journal thread. Owns how many searches of one sort run at a time, and who waits for them.

import { DroverError } from './errors.js';

/** What a caller is told to wait when too many do so already, in s. */
const RETRY_AFTER_S = 1;

export interface LaneBounds {
  /** Tasks that run at a time. */
  running: number;
  /** Tasks that wait for one of them to end; one more rejects with `overloaded`. */
  waiting: number;
}

export class Semaphore {
  readonly #bounds: LaneBounds;
  #running = 0;
  /** In the order of their coming. */
  readonly #waiting = new Set<() => void>();

  constructor(bounds: LaneBounds) {
    this.#bounds = bounds;
  }

  /**
   * Runs the task when it is its turn. Rejects as the task does, with `overloaded` when too many wait, and with `no_answer`
   * when it is cancelled before its turn: it is not run then.
   */
  async run<T>(task: () => Promise<T>, cancelled?: AbortSignal): Promise<T> {
    if (cancelled?.aborted) throw new DroverError('no_answer');
    if (this.#running < this.#bounds.running) this.#running += 1;
    else await this.#turn(cancelled);
    try {
      return await task();
    } finally {
      const [next] = this.#waiting;
      if (next) next();
      else this.#running -= 1;
    }
  }

  /** Resolves when the place of one that has ended is this one's. */
  #turn(cancelled: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#bounds.waiting) {
      throw new DroverError('overloaded', undefined, RETRY_AFTER_S);
    }
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(take);
        reject(new DroverError('no_answer'));
      };
      const take = (): void => {
        this.#waiting.delete(take);
        cancelled?.removeEventListener('abort', leave);
        resolve();
      };
      this.#waiting.add(take);
      cancelled?.addEventListener('abort', leave, { once: true });
    });
  }
}
