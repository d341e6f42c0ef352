// Runs in the bus thread. Owns the table of places: where the node's own frames are in the stream of the cluster. By it history has the
// ids of the cluster, and frames that have left JetStream's window are found in the journal.

import { messageOf } from '../../shared/errors.js';
import type { PositionFile } from './position-file.js';
import {
  addRun,
  type Extent,
  extentOf,
  lastUpTo,
  type Run,
  type RunList,
  type StreamPosition,
} from './runs.js';

/** Runs that are kept in memory before they are written. */
const LIST_RUNS = 512;
/** Runs that wait for a disk that takes no writes. When there are more, the oldest are forgotten: their frames keep their own ids. */
const MAX_WAITING = 64 * 1024;

export class PositionMap {
  readonly #file: PositionFile;
  /** What is not written yet. */
  #list: RunList & { runs: Run[] } = { epoch: '', seq: 0, runs: [] };
  /** Runs in memory at which the next write is tried: later after one that failed. */
  #writeAt = LIST_RUNS;
  /** Why the last write failed, null when it did not: what is new is in memory only. */
  fault: string | null = null;

  constructor(file: PositionFile) {
    this.#file = file;
  }

  /** The own number after the last frame that has a place; null when none has. */
  get end(): number | null {
    const last = this.#list.runs.at(-1);
    return last ? last.own + last.count : (this.#file.entries.at(-1)?.ownEnd ?? null);
  }

  /** The message of the stream up to which the runs of all messages are known; 0 when none is. */
  seq(epoch: string): number {
    const last = this.#list.runs.length > 0 ? this.#list : this.#file.entries.at(-1);
    return last?.epoch === epoch ? last.seq : 0;
  }

  /** Adds a run of the message `seq` behind all others. What is known already is left out. */
  add(epoch: string, seq: number, { own, number, count }: Run): void {
    const known = Math.max(0, (this.end ?? 0) - own);
    if (known >= count) return;
    if (this.#list.epoch !== epoch) {
      this.flush();
      // A disk that is full takes nothing: what is left is of another numbering.
      this.#list = { epoch, seq, runs: [] };
      this.#writeAt = LIST_RUNS;
    }
    const { runs } = this.#list;
    this.#list.seq = seq;
    addRun(runs, { own: own + known, number: number + known, count: count - known });
    if (runs.length < this.#writeAt) return;
    if (!this.flush()) this.#writeAt = runs.length + LIST_RUNS;
    if (this.#list.runs.length > MAX_WAITING) {
      this.#list.runs.splice(0, LIST_RUNS);
      this.#writeAt -= LIST_RUNS;
    }
  }

  /** Writes what is new. @returns false when the disk takes no writes: it stays in memory. */
  flush(): boolean {
    if (this.#list.runs.length === 0) return true;
    try {
      this.#file.append(this.#list);
      this.fault = null;
    } catch (thrown) {
      this.fault = messageOf(thrown);
      return false;
    }
    this.#list = { ...this.#list, runs: [] };
    this.#writeAt = LIST_RUNS;
    return true;
  }

  /** The journal has no frames below `own` any more. */
  prune(own: number): void {
    try {
      this.#file.prune(own);
    } catch {
      // The disk takes no writes: what is too much stays for now.
    }
  }

  /** Of an own frame; null when it is not on the stream of the cluster, or nobody knows where. */
  of(own: number): StreamPosition | null {
    const list = this.#listUpTo(({ own: first }) => first, own);
    const run = list?.runs[lastUpTo(list.runs, own, (one) => one.own)];
    if (!run || own >= run.own + run.count) return null;
    return { epoch: list.epoch, number: run.number + own - run.own };
  }

  /** The first own frame with this number of the cluster, or a higher one; null when there is none. */
  ownFrom(epoch: string, number: number): number | null {
    for (const { own, number: at } of this.from(epoch, number)) {
      return own + Math.max(0, number - at);
    }
    return null;
  }

  /**
   * The own number after the last frame with a lower number of the cluster than this, so that what was never on the stream since is
   * not before it; null when no frame is on that stream.
   */
  ownBefore(epoch: string, number: number): number | null {
    const list = this.#listOf(epoch, number - 1);
    const run = list?.runs[lastUpTo(list.runs, number - 1, (one) => one.number)];
    if (run) return run.own + Math.min(run.count, number - run.number);
    return this.ownFrom(epoch, number);
  }

  /** The runs that end after this number of the cluster, ascending. They may be forgotten, or written, while they are read. */
  *from(epoch: string, number: number): Generator<Run> {
    const { entries } = this.#file;
    const list = this.#list;
    const { start, end, at } = this.#extentsOf(epoch, number);
    for (const extent of entries.slice(Math.max(start, at), end)) {
      for (const run of this.#file.read(extent)?.runs ?? []) {
        if (run.number + run.count > number) yield run;
      }
    }
    if (list.epoch !== epoch) return;
    for (const run of list.runs) if (run.number + run.count > number) yield run;
  }

  /** Frames of this node below this number of the cluster may be gone from its journal; 0 when none are. */
  forgottenBelow(epoch: string): number {
    const { forgotten } = this.#file;
    return forgotten?.epoch === epoch ? forgotten.number : 0;
  }

  /** Which entries are of this numbering, and the last of them that begins at this number or below. */
  #extentsOf(epoch: string, number: number): { start: number; end: number; at: number } {
    const { entries } = this.#file;
    // Numberings follow each other, and in each the numbers ascend.
    const end = entries.findLastIndex((extent) => extent.epoch === epoch) + 1;
    const isOf = (extent: Extent): number => (extent.epoch === epoch ? 1 : 0);
    const start = lastUpTo(entries, 0, isOf, 0, end) + 1;
    return { start, end, at: lastUpTo(entries, number, (one) => one.number, start, end) };
  }

  /** The list in which a frame with this number of the cluster is, or would be. */
  #listOf(epoch: string, number: number): RunList | null {
    const [first] = this.#list.runs;
    if (first && this.#list.epoch === epoch && first.number <= number) return this.#list;
    const { start, at } = this.#extentsOf(epoch, number);
    const extent = at < start ? undefined : this.#file.entries[at];
    return extent ? this.#file.read(extent) : null;
  }

  #listUpTo(keyOf: (extent: Extent) => number, key: number): RunList | null {
    const { runs } = this.#list;
    if (runs.length > 0 && keyOf(extentOf(this.#list)) <= key) return this.#list;
    const index = lastUpTo(this.#file.entries, key, keyOf);
    const extent = this.#file.entries[index];
    return extent ? this.#file.read(extent) : null;
  }
}
