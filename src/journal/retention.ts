// Runs in the journal thread. Owns the list of postings that are being removed. Removes the oldest blocks, by bytes and by age,
// a few in each transaction.

import { Head } from './block.js';
import type { JournalLabels } from './label-table.js';
import type { JournalStates } from './state-table.js';
import type { Stats } from './stats.js';
import type { SteadyClock } from './steady-clock.js';
import { SEGMENT, type State, type Tables, usedBytes } from './tables.js';

/** Most blocks that are removed in one transaction, in addition to as many as it adds. */
const BLOCKS_STEP = 32;
/** Largest share of the bytes for the statistics, which only age removes otherwise. */
const STATS_SHARE = 1 / 16;
/** Most postings that are removed in one transaction. */
const POSTINGS_STEP = 2000;

export interface RetentionOptions {
  maxBytes: number;
  maxAgeMs: number;
  labels: JournalLabels;
  states: JournalStates;
  stats: Stats;
  steady: SteadyClock;
}

export class Retention {
  readonly #options: RetentionOptions;
  /** Sessions of the segment whose postings still have to be removed: pairs of words. */
  #remaining: Uint32Array = new Uint32Array();
  #segment = -1;

  constructor(options: RetentionOptions) {
    this.#options = options;
  }

  /** Whether the oldest block is too old. @param next the end of the newest block, which is never removed. */
  isDue(oldest: Head | undefined, next: number): boolean {
    return oldest !== undefined && oldest.next < next && this.#isOld(oldest, this.#oldestTime);
  }

  /**
   * Removes some of the data that is too old or exceeds the limits. In a transaction. @param added blocks that the
   * transaction adds.
   * @returns whether there is more to remove.
   */
  apply(tables: Tables, state: State, added: number): boolean {
    const { maxBytes, labels, states, stats } = this.#options;
    const oldestTime = this.#oldestTime;
    let removed = 0;
    let oldest = 0;
    const limit = BLOCKS_STEP + added + 1;
    for (const { key: first, value } of [...tables.heads.getRange({ limit })]) {
      oldest = first;
      if (removed === BLOCKS_STEP + added) break;
      const head = new Head(value);
      // The newest block stays.
      if (head.next >= state.next) break;
      if (!this.#isOld(head, oldestTime) && usedBytes(tables) <= maxBytes) break;
      tables.blocks.removeSync(first);
      tables.heads.removeSync(first);
      removed += 1;
    }
    this.#removePostings(tables, oldest);
    if (removed > 0) {
      labels.prune(tables, oldest);
      states.prune(tables, oldest);
    }
    stats.prune(tables, state, oldestTime, maxBytes * STATS_SHARE);
    state.bytes = usedBytes(tables);
    return removed === BLOCKS_STEP + added || this.#remaining.length > 0;
  }

  /** Call it when the transaction was rolled back. */
  reset(): void {
    this.#remaining = new Uint32Array();
  }

  get #oldestTime(): number {
    return this.#options.steady.now() - this.#options.maxAgeMs;
  }

  /** Age counts from the time of writing, so events with a wrong time neither keep a block nor remove it. */
  #isOld({ writtenMs, clock }: Head, oldestTime: number): boolean {
    return (writtenMs || clock) < oldestTime;
  }

  #removePostings(tables: Tables, oldest: number): void {
    if (this.#remaining.length === 0) {
      for (const segment of tables.segments.getKeys({ limit: 1 })) {
        if (segment + SEGMENT > oldest) return;
        const stored = tables.segments.getBinary(segment);
        this.#remaining = new Uint32Array(new Uint8Array(stored ?? []).buffer);
        this.#segment = segment;
      }
    }
    if (this.#remaining.length === 0) return;
    const step = this.#remaining.subarray(0, 2 * POSTINGS_STEP);
    for (let at = 0; at < step.length; at += 2) {
      const key: [number, number, number] = [
        step[at] as number,
        step[at + 1] as number,
        this.#segment,
      ];
      tables.postings.removeSync(key);
    }
    this.#remaining = this.#remaining.subarray(step.length);
    if (this.#remaining.length === 0) tables.segments.removeSync(this.#segment);
  }
}
