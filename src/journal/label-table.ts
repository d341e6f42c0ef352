// Runs in the journal thread. Owns the labels that each bot had at each frame of the journal, in memory and in their table: a
// token that is limited by labels reads from the journal what its streams would have shown at the time.

import { type BotSnapshot, hasLeft } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import { type BotLabels, LabelHistory } from '../shared/stream/label-history.js';
import type { NameKey, Tables } from './tables.js';

/** Most rows that are checked in one transaction. */
const PRUNE_STEP = 100;

export class JournalLabels {
  readonly history = new LabelHistory();
  readonly #names: NameHasher;
  /** Each bot's current labels by its key, as JSON, so that a frame without a change costs one comparison. */
  readonly #now = new Map<string, { json: string; key: NameKey }>();
  /** A pass over the rows before frame `end`, a step at a time; `after` is the last one checked. */
  #pass: { after: [number, ...NameKey]; end: number } | undefined;
  #fresh: { seq: number; key: NameKey; labels: BotLabels | null }[] = [];

  constructor(names: NameHasher) {
    this.#names = names;
    // Only frames in blocks are searched for, and the labels of all of these are known.
    this.history.known = Number.POSITIVE_INFINITY;
  }

  /** Loads the table. */
  load({ labels }: Tables): void {
    for (const { key, value } of labels.getRange()) {
      const [seq, low, high] = key;
      const name: NameKey = [low, high];
      this.#set(seq, name, value);
      if (value) this.#now.set(name.join(), { json: JSON.stringify(value), key: name });
      else this.#now.delete(name.join());
    }
  }

  /** A session frame has passed. */
  saw(seq: number, snapshot: BotSnapshot): void {
    const { id, labels, status } = snapshot;
    const isGone = hasLeft(status);
    const json = isGone ? '' : JSON.stringify(labels);
    const { low, high } = this.#names.of(id);
    const key: NameKey = [low, high];
    const now = this.#now.get(key.join());
    if (now?.json === json) return;
    if (isGone) this.#now.delete(key.join());
    else this.#now.set(key.join(), { json, key });
    const value = isGone ? null : labels;
    this.#set(seq, key, value);
    this.#fresh.push({ seq, key, labels: value });
  }

  /** After missed frames: these are the snapshots as of just before frame `seq`. */
  rebase(seq: number, snapshots: readonly BotSnapshot[]): void {
    const gone = new Map(this.#now);
    for (const snapshot of snapshots) {
      const { low, high } = this.#names.of(snapshot.id);
      gone.delete([low, high].join());
      this.saw(seq, snapshot);
    }
    for (const [id, { key }] of gone) {
      this.#now.delete(id);
      this.#set(seq, key, null);
      this.#fresh.push({ seq, key, labels: null });
    }
  }

  /** Adds the changes to the table. In a transaction; call {@link written} after its commit. */
  write({ labels }: Tables): void {
    for (const { seq, key, labels: value } of this.#fresh) labels.putSync([seq, ...key], value);
  }

  written(): void {
    this.#fresh = [];
  }

  /** Adds all current labels as changes: for a new journal. */
  renew(seq: number): void {
    this.#fresh = [...this.#now.values()].map(({ json, key }) => ({
      seq,
      key,
      labels: JSON.parse(json) as BotLabels,
    }));
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
