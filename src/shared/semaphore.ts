// Used by any thread. Owns the permits of one kind of task, and the queues of tasks that wait for one: each owner of tasks has
// its own, and they are served in turn.

import { Deferred } from './deferred.js';
import { DroverError } from './errors.js';

/** `Retry-After` of a refused task, in s. */
const RETRY_AFTER_S = 1;

export interface SemaphoreOptions {
  /** Tasks that run at once. */
  permits: number;
  /** Tasks that wait for a permit. */
  maxQueued: number;
}

export class Semaphore {
  readonly #maxQueued: number;
  #free: number;
  #queued = 0;
  /**
   * Queues by owner, the next one first; none is empty. Each is first in, first out. All together bounded by
   * `maxQueued`.
   */
  readonly #queues = new Map<string, Set<Deferred>>();

  constructor({ permits, maxQueued }: SemaphoreOptions) {
    this.#free = permits;
    this.#maxQueued = maxQueued;
  }

  /**
   * Runs the task when it has a permit, and settles as it does. Rejects with `overloaded` when there is no room for it, and with
   * `no_answer` when `signal` is aborted before the task starts; the task does not run then.
   * @param owner gets as many permits as others that wait, and its share of the room: a task of an owner that has more of them
   * makes room for those that have fewer.
   */
  async run<T>(task: () => Promise<T>, signal?: AbortSignal, owner = ''): Promise<T> {
    if (signal?.aborted) throw new DroverError('no_answer');
    if (this.#free > 0) this.#free -= 1;
    else await this.#permit(signal, owner);
    try {
      return await task();
    } finally {
      this.#release();
    }
  }

  async #permit(signal: AbortSignal | undefined, owner: string): Promise<void> {
    if (this.#queued >= this.#maxQueued) this.#makeRoom(owner);
    const permit = new Deferred();
    const cancel = (): void => {
      this.#remove(owner, permit);
      permit.reject(new DroverError('no_answer'));
    };
    const queue = this.#queues.get(owner) ?? new Set();
    this.#queues.set(owner, queue.add(permit));
    this.#queued += 1;
    signal?.addEventListener('abort', cancel, { once: true });
    try {
      await permit.promise;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** Refuses the latest task of the owner that has most of them. @throws DroverError `overloaded` if that would be unfair. */
  #makeRoom(owner: string): void {
    const own = this.#queues.get(owner)?.size ?? 0;
    let [most, longest] = ['', new Set<Deferred>()];
    for (const [other, queue] of this.#queues) {
      if (queue.size > longest.size) [most, longest] = [other, queue];
    }
    const refusal = new DroverError('overloaded', undefined, RETRY_AFTER_S);
    const latest = [...longest].at(-1);
    if (latest === undefined || longest.size <= own + 1) throw refusal;
    this.#remove(most, latest);
    latest.reject(refusal);
  }

  #remove(owner: string, permit: Deferred): void {
    const queue = this.#queues.get(owner);
    if (!queue?.delete(permit)) return;
    this.#queued -= 1;
    if (queue.size === 0) this.#queues.delete(owner);
  }

  /** The permit passes to the next owner that waits, or is free again. */
  #release(): void {
    const [next] = this.#queues;
    if (!next) {
      this.#free += 1;
      return;
    }
    const [owner, queue] = next;
    const [permit] = queue;
    // Moves the owner to the end of the order.
    this.#queues.delete(owner);
    this.#queues.set(owner, queue);
    if (permit) this.#remove(owner, permit);
    permit?.resolve();
  }
}
