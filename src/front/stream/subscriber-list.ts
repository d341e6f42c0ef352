import type { Subscriber } from './subscriber.js';

/**
 * Subscribers that a pass goes through, in no lasting order. Subscribers may join and leave while it runs: none of the others
 * is skipped, and none is served twice.
 */
export class SubscriberList {
  readonly #all: Subscriber[] = [];
  /** Index of the first subscriber that this pass has not served yet. */
  #at = 0;

  get size(): number {
    return this.#all.length;
  }

  /** A copy, for a task that removes subscribers. */
  all(): Subscriber[] {
    return [...this.#all];
  }

  begin(): void {
    this.#at = 0;
  }

  /** The next subscriber of the pass, undefined after the last. */
  next(): Subscriber | undefined {
    return this.#at < this.#all.length ? this.#all[this.#at++] : undefined;
  }

  /** Adds a subscriber; a pass that runs reaches it. */
  push(subscriber: Subscriber): void {
    subscriber.index = this.#all.length;
    this.#all.push(subscriber);
  }

  /** Removes a subscriber, which must be in this list. */
  remove(subscriber: Subscriber): void {
    // The last one fills the hole. During a pass, one that was already served fills it, so that none is skipped.
    let hole = subscriber.index;
    if (hole < this.#at) {
      this.#at -= 1;
      this.#move(this.#at, hole);
      hole = this.#at;
    }
    const last = this.#all.length - 1;
    if (hole !== last) this.#move(last, hole);
    this.#all.pop();
  }

  #move(from: number, to: number): void {
    const moved = this.#all[from] as Subscriber;
    this.#all[to] = moved;
    moved.index = to;
  }
}
