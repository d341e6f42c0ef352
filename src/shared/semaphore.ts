// Used by any thread. Owns the permits of one kind of task, and the queue of tasks that wait for one.

import { Deferred } from './deferred.js';
import { DroverError } from './errors.js';

/** `Retry-After` of a refused task, in s. */
const RETRY_AFTER_S = 1;

export interface SemaphoreOptions {
  /** Tasks that run at once. */
  permits: number;
  /** Tasks that wait for a permit; one more rejects with `overloaded`. */
  maxQueued: number;
}

export class Semaphore {
  readonly #maxQueued: number;
  #free: number;
  /** First in, first out. Bounded by `maxQueued`. */
  readonly #queue = new Set<Deferred>();

  constructor({ permits, maxQueued }: SemaphoreOptions) {
    this.#free = permits;
    this.#maxQueued = maxQueued;
  }

  /**
   * Runs the task when it has a permit, and settles as it does. Rejects with `overloaded` when the queue is full, and with
   * `no_answer` when `signal` is aborted before the task starts; the task does not run then.
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (signal?.aborted) throw new DroverError('no_answer');
    if (this.#free > 0) this.#free -= 1;
    else await this.#permit(signal);
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  async #permit(signal: AbortSignal | undefined): Promise<void> {
    if (this.#queue.size >= this.#maxQueued) {
      throw new DroverError('overloaded', undefined, RETRY_AFTER_S);
    }
    const permit = new Deferred();
    const cancel = (): void => {
      this.#queue.delete(permit);
      permit.reject(new DroverError('no_answer'));
    };
    this.#queue.add(permit);
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      await permit.promise;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** The permit passes to the first in the queue, or is free again. */
  #release(): void {
    const [next] = this.#queue;
    if (next) {
      this.#queue.delete(next);
      next.resolve();
    } else {
      this.#free += 1;
    }
  }
}
