// Runs in the journal thread. Owns how a file that was opened is brought up to the ring, and what is remembered whatever
// becomes of the file: labels, counts, the clock.

import { statSync } from 'node:fs';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { JournalStart } from '../shared/contract/threads.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { JournalReader } from './journal-reader.js';
import { JournalLabels } from './label-table.js';
import { Recorder } from './recorder.js';
import { Retention } from './retention.js';
import { Stats } from './stats.js';
import { SteadyClock } from './steady-clock.js';
import { FORM, SEGMENT, type State, type Tables } from './tables.js';

/** A journal that is open. */
export interface Opened {
  tables: Tables;
  state: State;
  recorder: Recorder;
  retention: Retention;
  past: JournalReader;
  /** To find out when somebody has taken it away. */
  inode: number;
}

export class Remembered {
  readonly labels: JournalLabels;
  readonly #stats = new Stats();
  readonly #start: JournalStart;
  readonly #reader: RingReader;
  #steady: SteadyClock | undefined;
  #hasLabels = false;

  constructor(start: JournalStart, reader: RingReader, names: NameHasher) {
    this.#start = start;
    this.#reader = reader;
    this.labels = new JournalLabels(names);
  }

  /** @param found its state, undefined when it is new. */
  takeUp(path: string, tables: Tables, found: State | undefined): Opened {
    const { first, stream, config } = this.#start;
    // Counted, but not written: those frames come again.
    this.#stats.written();
    const state = found ?? newState(stream.epoch, first);
    this.#takeUpLabels(tables, found);
    const past = new JournalReader(tables, () => recorder.changing);
    const newest = past.newest();
    this.#steady ??= new SteadyClock(newest?.writtenMs || (newest?.clock ?? 0));
    const known = { labels: this.labels, stats: this.#stats, steady: this.#steady };
    const recorder = new Recorder({ reader: this.#reader, epoch: stream.epoch, ...known }, state);
    for (let block = past.from(state.posted); block; block = past.from(block.next)) {
      recorder.resume(block);
    }
    // Numbers that a run before this one had reserved, and used or not, nobody knows.
    if (recorder.next < first) recorder.skipTo(first, false);
    // What is on the ring is there to be kept; what has left it before there was a journal is lost.
    if (!found) recorder.skipTo(this.#reader.tail(), true);
    const retention = new Retention({
      maxBytes: config.max_bytes,
      maxAgeMs: config.max_age_hours * 3_600_000,
      ...known,
    });
    return { tables, state, recorder, retention, past, inode: statSync(path).ino };
  }

  #takeUpLabels(tables: Tables, found: State | undefined): void {
    const { first } = this.#start;
    if (!found) {
      this.labels.renew(first);
    } else if (!this.#hasLabels) {
      this.labels.load(tables);
      // A run begins without bots; whoever is there says so before anything else.
      if (found.next <= first) this.labels.rebase(first - 1, []);
    }
    this.#hasLabels = true;
  }
}

function newState(epoch: string, first: number): State {
  const posted = Math.floor(first / SEGMENT) * SEGMENT;
  return {
    form: FORM,
    epoch,
    next: first,
    posted,
    clock: 0,
    bytes: 0,
    stats: 0,
    lost: 0,
    holes: 0,
  };
}
