// Runs in the journal thread. Owns the labels that each bot had at each frame of the journal, in memory and in their table: a
// token that is limited by labels reads from the journal what its streams would have shown at the time.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import { type BotLabels, LabelHistory } from '../shared/stream/label-history.js';
import { BotChanges } from './bot-changes.js';
import type { NameKey, Tables } from './tables.js';

/** Most rows that are checked in one transaction. */
const PRUNE_STEP = 100;

export class JournalLabels {
  readonly history = new LabelHistory();
  readonly #changes: BotChanges<BotLabels>;
  /** A pass over the rows before frame `end`, a step at a time; `after` is the last one checked. */
  #pass: { after: [number, ...NameKey]; end: number } | undefined;

  constructor(names: NameHasher) {
    this.#changes = new BotChanges(
      names,
      ({ labels }) => labels,
      ({ seq, key, value }) => this.#set(seq, key, value),
    );
    // Searches find only frames in blocks, and the table has the labels of all of these.
    this.history.known = Number.POSITIVE_INFINITY;
  }

  load({ labels }: Tables): void {
    for (const { key, value } of labels.getRange()) {
      const [seq, low, high] = key;
      const name: NameKey = [low, high];
      this.#set(seq, name, value);
      this.#changes.load(name, value);
    }
  }

  /** A session frame has passed. */
  saw(seq: number, snapshot: BotSnapshot): void {
    this.#changes.saw(seq, snapshot);
  }

  /** After missed frames: these are the snapshots as of just before frame `seq`. */
  rebase(seq: number, snapshots: readonly BotSnapshot[]): void {
    this.#changes.rebase(seq, snapshots);
  }

  /** Adds the changes to the table. In a transaction; call {@link written} after its commit. */
  write({ labels }: Tables): void {
    for (const { seq, key, value } of this.#changes.fresh) labels.putSync([seq, ...key], value);
  }

  written(): void {
    this.#changes.written();
  }

  /** Adds all current labels as changes: for a new journal. */
  renew(seq: number): void {
    this.#changes.renew(seq);
  }

  /**
   * Removes some of the rows whose span ended before frame `oldest`. In a transaction. All rows of a pass are checked for
   * one frame, so that a bot's older row never outlives the row that ended it.
   */
  prune({ labels }: Tables, oldest: number): void {
    this.history.prune(oldest);
    const { after, end } = this.#pass ?? { after: [0, 0, 0], end: oldest };
    const range = { start: after, exclusiveStart: true, end: [end, 0, 0] as [number, ...NameKey] };
    const keys = [...labels.getKeys({ ...range, limit: PRUNE_STEP })];
    for (const [seq, low, high] of keys) {
      if (!this.history.knows(low, high, seq)) labels.removeSync([seq, low, high]);
    }
    const last = keys.at(-1);
    this.#pass = last && keys.length === PRUNE_STEP ? { after: last, end } : undefined;
  }

  #set(seq: number, [low, high]: NameKey, labels: BotLabels | null): void {
    const name = { low, high, json: '' };
    if (labels) this.history.set(name, labels, seq, seq + 1);
    else this.history.remove(name, seq + 1);
  }
}
