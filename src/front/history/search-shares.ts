import { DroverError } from '../../shared/errors.js';
import { MAX_WAITING } from '../stream/journal-client.js';

/**
 * A token may have this share of the room that is left: alone a quarter of it all, four tokens a seventh each. So there is always
 * room for one more token.
 */
const SHARE_OF_FREE = 1 / 3;
const RETRY_AFTER_S = 1;

/** Runs in a front thread. Bounds the searches of each token, so that one token cannot keep out the others. */
export class SearchShares {
  /** Running searches by token id. */
  readonly #searching = new Map<string, number>();
  #total = 0;

  /** @returns to be called once, when the search is over. @throws DroverError `too_many`. */
  enter(token: string): () => void {
    const count = this.#searching.get(token) ?? 0;
    if (count >= (MAX_WAITING - this.#total) * SHARE_OF_FREE) {
      throw new DroverError('too_many', 'too many searches of this token wait', RETRY_AFTER_S);
    }
    this.#searching.set(token, count + 1);
    this.#total += 1;
    return () => {
      this.#total -= 1;
      const left = (this.#searching.get(token) ?? 0) - 1;
      if (left > 0) this.#searching.set(token, left);
      else this.#searching.delete(token);
    };
  }
}
