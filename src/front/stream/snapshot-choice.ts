import type { Filter } from '../../shared/stream/filter.js';
import type { MirroredSession } from '../bots/snapshot-mirror.js';

/** How long a new stream's query looks at snapshots before the front does other work, in ms. */
const SLICE_MS = 2;

/** The snapshots of one moment that a query lets through to a new stream. It can take milliseconds for each, so it works in slices. */
export class SnapshotChoice {
  /** Sequence number of the first frame after that moment. */
  readonly next: number;
  readonly chosen: MirroredSession[] = [];
  readonly #filter: Filter;
  readonly #all: readonly MirroredSession[];
  #at = 0;

  constructor(filter: Filter, all: readonly MirroredSession[], next: number) {
    this.#filter = filter;
    this.#all = all;
    this.next = next;
  }

  /** Looks at some, at least one. @returns whether that was the last slice. */
  look(): boolean {
    const end = performance.now() + SLICE_MS;
    while (this.#at < this.#all.length) {
      const session = this.#all[this.#at] as MirroredSession;
      this.#at += 1;
      if (this.#filter.matchesSnapshot(session.snapshot)) this.chosen.push(session);
      if (performance.now() >= end) break;
    }
    return this.#at === this.#all.length;
  }
}
