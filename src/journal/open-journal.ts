// Runs in the journal thread. Owns the state that does not depend on the file: labels and states of bots, counts, the clock.

import { statSync } from 'node:fs';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { JournalStart } from '../shared/contract/threads.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { JournalReader } from './journal-reader.js';
import { JournalLabels } from './label-table.js';
import { Recorder } from './recorder.js';
import { Retention } from './retention.js';
import { JournalStates } from './state-table.js';
import { Stats } from './stats.js';
import { SteadyClock } from './steady-clock.js';
import { FORM, SEGMENT, type State, type Tables } from './tables.js';

/** An open file, and what works on it. */
export interface OpenJournal {
  tables: Tables;
  state: State;
  /** {@link State.next} as the file has it; undefined while nothing is written. */
  kept: number | undefined;
  recorder: Recorder;
  retention: Retention;
  reader: JournalReader;
  /** Tells when the file has been removed or renamed. */
  inode: number;
}

export class JournalMemory {
  readonly labels: JournalLabels;
  readonly states: JournalStates;
  readonly #stats = new Stats();
  readonly #start: JournalStart;
  readonly #ring: RingReader;
  #steady: SteadyClock | undefined;
  #isLoaded = false;

  constructor(start: JournalStart, ring: RingReader, names: NameHasher) {
    this.#start = start;
    this.#ring = ring;
    this.labels = new JournalLabels(names);
    this.states = new JournalStates(names);
  }

  /** Brings a file that was opened up to the ring. @param found its state, undefined when the file is new. */
  resume(path: string, tables: Tables, found: State | undefined): OpenJournal {
    const { first, stream, config } = this.#start;
    // Drops counts that were not written, because their frames are counted again.
    this.#stats.written();
    const state = found ?? newState(stream.epoch, first);
    this.#resumeBots(tables, found);
    const reader = new JournalReader(tables, () => recorder.changing);
    const newest = reader.newest();
    this.#steady ??= new SteadyClock(newest?.writtenMs || (newest?.clock ?? 0));
    const known = {
      labels: this.labels,
      states: this.states,
      stats: this.#stats,
      steady: this.#steady,
    };
    const recorder = new Recorder({ ring: this.#ring, epoch: stream.epoch, ...known }, state);
    for (let block = reader.from(state.posted); block; block = reader.from(block.next)) {
      recorder.resume(block);
    }
    // Numbers that an earlier run had reserved: nobody knows which of them were used.
    if (recorder.next < first) recorder.skipTo(first, false);
    // A new journal keeps what is still on the ring; what has left it is lost.
    if (!found) recorder.skipTo(this.#ring.tail(), true);
    const retention = new Retention({
      maxBytes: config.max_bytes,
      maxAgeMs: config.max_age_hours * 3_600_000,
      ...known,
    });
    const inode = statSync(path).ino;
    return { tables, state, kept: found?.next, recorder, retention, reader, inode };
  }

  #resumeBots(tables: Tables, found: State | undefined): void {
    const { first } = this.#start;
    const { labels, states } = this;
    if (!found) {
      labels.renew(first);
      states.renew(first);
    } else if (!this.#isLoaded) {
      labels.load(tables);
      states.load(tables, Math.max(found.next, first));
      // A run starts without bots: each bot publishes its snapshot before anything else.
      if (found.next <= first) {
        labels.rebase(first - 1, []);
        states.rebase(first - 1, []);
      }
    }
    this.#isLoaded = true;
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
