// Runs in a front thread. Owns how much of request bodies may be in memory before they are whole: anybody may begin one, on
// every connection.

import { DroverError } from '../shared/errors.js';

/** So much of each body is taken whatever the others do, in bytes: nobody with a small one is kept out by large ones. */
export const FREE_BYTES = 4096;
const RETRY_AFTER_S = 1;

/** What is beyond the first 4 KiB of the bodies that are on their way. */
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

/** One body's part of it. */
export class BodyShare {
  readonly #take: (change: number) => boolean;
  #size = 0;
  #taken = 0;

  constructor(take: (change: number) => boolean) {
    this.#take = take;
  }

  /** Another piece has come. @throws DroverError `no_room`; it is not to be kept then. */
  add(bytes: number): void {
    this.#size += bytes;
    const more = this.#size - FREE_BYTES - this.#taken;
    if (more <= 0) return;
    if (!this.#take(more)) throw new DroverError('no_room', undefined, RETRY_AFTER_S);
    this.#taken += more;
  }

  /** It is whole, or refused. */
  close(): void {
    this.#take(-this.#taken);
    this.#taken = 0;
  }
}
