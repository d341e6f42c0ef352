import { DroverError } from '../../shared/errors.js';

const RETRY_AFTER_S = 1;

/**
 * Bounds the requests of one route that wait for something: main or a bot. Each route has its own limiter, so that a slow
 * bot cannot block other routes.
 */
export class InFlightLimiter {
  readonly #max: number;
  #inFlight = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** @throws DroverError `overloaded` when there is no room for another. */
  check(): void {
    if (this.#inFlight >= this.#max) throw new DroverError('overloaded', undefined, RETRY_AFTER_S);
  }

  add(change: 1 | -1): void {
    this.#inFlight += change;
  }
}

/**
 * One request's place in its route's limiter. It does not count while its body arrives: any client can hold back bodies,
 * and these are bounded by the number of connections and by the time that a body may take.
 */
export class InFlightSlot {
  readonly #limiter: InFlightLimiter;
  #state: 'new' | 'receiving' | 'counted' = 'new';

  constructor(limiter: InFlightLimiter) {
    this.#limiter = limiter;
  }

  /** Its body arrives from now on. */
  receive(): void {
    this.#state = 'receiving';
  }

  /** Its body is complete. @throws DroverError `overloaded` when there is no room now. */
  received(): void {
    this.#enter();
  }

  /** The handler is asynchronous: the request counts from now on, or from the end of its body. */
  begin(): void {
    if (this.#state === 'new') this.#enter();
  }

  end(): void {
    if (this.#state === 'counted') this.#limiter.add(-1);
  }

  #enter(): void {
    this.#limiter.check();
    this.#limiter.add(1);
    this.#state = 'counted';
  }
}
