// Runs in a front thread. Owns how many requests of one route are worked on at once.

import { DroverError } from '../shared/errors.js';

/** What a caller above the bound is told to wait, in s. */
const RETRY_AFTER_S = 1;

/** The requests of one route that wait for something: main, a bot. Each route has a count of its own. */
export class InFlightLimiter {
  readonly #max: number;
  #now = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws DroverError `overloaded` when one more would be too many. */
  check(): void {
    if (this.#now >= this.#max) throw new DroverError('overloaded', undefined, RETRY_AFTER_S);
  }

  add(change: 1 | -1): void {
    this.#now += change;
  }
}

/**
 * One request's place in the load of its route. While its body is still coming it has none: anybody can hold back bodies,
 * and these are bounded by the number of connections and by the time that a body may take.
 */
export class InFlightSlot {
  readonly #load: InFlightLimiter;
  #state: 'new' | 'receiving' | 'counted' = 'new';

  constructor(load: InFlightLimiter) {
    this.#load = load;
  }

  /** The body, when it has come and there is still room. @throws DroverError `overloaded`. */
  async arrival(body: Promise<Uint8Array>): Promise<Uint8Array> {
    this.#state = 'receiving';
    const bytes = await body;
    this.#enter();
    return bytes;
  }

  /** The handler waits for something: for its body, or it counts from now on. */
  begin(): void {
    if (this.#state === 'new') this.#enter();
  }

  end(): void {
    if (this.#state === 'counted') this.#load.add(-1);
  }

  #enter(): void {
    this.#load.check();
    this.#load.add(1);
    this.#state = 'counted';
  }
}
