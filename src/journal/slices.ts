// Runs in the journal thread. Owns how long reading stays at work before the journal itself gets a turn.

import { setImmediate as turn } from 'node:timers/promises';
import { DroverError } from '../errors.js';

const SLICE_MS = 5;

export class Slices {
  readonly #journal: { isOpen(): boolean };
  #end = performance.now() + SLICE_MS;

  constructor(journal: { isOpen(): boolean }) {
    this.#journal = journal;
  }

  get isOver(): boolean {
    return performance.now() > this.#end;
  }

  /** @throws DroverError `unavailable` when the journal was closed meanwhile: what was read from must not be touched again. */
  async turn(): Promise<void> {
    await turn();
    if (!this.#journal.isOpen()) throw new DroverError('unavailable', 'the journal was closed');
    this.#end = performance.now() + SLICE_MS;
  }
}
