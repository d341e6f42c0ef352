import { DroverError } from '../../shared/errors.js';

/** Bytes of each body that are always accepted: large bodies cannot keep out small ones. */
export const FREE_BYTES = 4096;
const RETRY_AFTER_S = 1;

/**
 * Runs in a front thread. Bounds the memory of incomplete request bodies: any client can begin one on every connection. Counts
 * what exceeds {@link FREE_BYTES} of each.
 */
export class BodyRoom {
  #left: number;

  constructor(bytes: number) {
    this.#left = bytes;
  }

  open(): BodyShare {
    return new BodyShare((change) => {
      if (change > this.#left) return false;
      this.#left -= change;
      return true;
    });
  }
}

/** One body's part of the room. */
export class BodyShare {
  readonly #take: (change: number) => boolean;
  #size = 0;
  #taken = 0;

  constructor(take: (change: number) => boolean) {
    this.#take = take;
  }

  /** Another piece has arrived. @throws DroverError `no_room`; the piece has to be dropped then. */
  add(bytes: number): void {
    this.#size += bytes;
    const more = this.#size - FREE_BYTES - this.#taken;
    if (more <= 0) return;
    if (!this.#take(more)) throw new DroverError('no_room', undefined, RETRY_AFTER_S);
    this.#taken += more;
  }

  /** The body is complete or refused. */
  close(): void {
    this.#take(-this.#taken);
    this.#taken = 0;
  }
}
