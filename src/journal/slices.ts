import { setImmediate as turn } from 'node:timers/promises';
import { DroverError } from '../shared/errors.js';
import { nowRuns, type Work } from '../shared/turn.js';

/** How long a search runs before the thread does other work, in ms. */
const SLICE_MS = 5;

/** The journal that a search reads. */
export interface Readable {
  /** False once the journal is closed. */
  isOpen(): boolean;
  /** Aborted when the client has gone. */
  cancelled?: AbortSignal | undefined;
  /** Names the request, for the line about a blocked event loop. */
  work?: Work | undefined;
}

/** Divides a long search into time slices. */
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
   * Yields to other work. @throws DroverError `unavailable` when the journal was closed meanwhile, and must not be read
   * again; `no_answer` when the client has gone.
   */
  async turn(): Promise<void> {
    await turn();
    const { work } = this.#journal;
    if (work !== undefined) nowRuns(work);
    if (!this.#journal.isOpen()) throw new DroverError('unavailable', 'the journal was closed');
    if (this.#journal.cancelled?.aborted) throw new DroverError('no_answer');
    this.#end = performance.now() + SLICE_MS;
  }
}
