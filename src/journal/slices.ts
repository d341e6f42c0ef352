// Runs in the journal thread. Owns how long reading stays at work before the journal itself gets a turn.

import { setImmediate as turn } from 'node:timers/promises';
import { DroverError } from '../shared/errors.js';

const SLICE_MS = 5;

/** What is read from. */
export interface Readable {
  /** False when the journal was closed meanwhile. */
  isOpen(): boolean;
  /** Aborted when nobody waits for what is read any more. */
  cancelled?: AbortSignal | undefined;
}

export class Slices {
  readonly #journal: Readable;
  #end = performance.now() + SLICE_MS;

  constructor(journal: Readable) {
    this.#journal = journal;
  }

  get isOver(): boolean {
    return performance.now() > this.#end;
  }

  /**
   * @throws DroverError `unavailable` when the journal was closed meanwhile: what was read from must not be touched again;
   * `no_answer` when nobody waits any more.
   */
  async turn(): Promise<void> {
    await turn();
    if (!this.#journal.isOpen()) throw new DroverError('unavailable', 'the journal was closed');
    if (this.#journal.cancelled?.aborted) throw new DroverError('no_answer');
    this.#end = performance.now() + SLICE_MS;
  }
}
