// Runs in the journal thread. Owns which labels each bot had at each frame of the journal, in memory and in its table: a
// token that is limited by labels gets of the past what its streams would have shown then.

import type { BotSnapshot } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import { type BotLabels, LabelHistory } from '../shared/stream/label-history.js';
import type { NameKey, Tables } from './tables.js';

/** Rows that are looked at in one transaction, at most. */
const PRUNE_STEP = 100;

export class JournalLabels {
  readonly history = new LabelHistory();
  readonly #names: NameHasher;
  /** What each bot has now, by its key, as JSON, so that a frame without a change costs a comparison. */
  readonly #now = new Map<string, { json: string; key: NameKey }>();
  /** Goes through the rows before frame `end`, a step at a time, from behind `after` on. */
  #pass: { after: [number, ...NameKey]; end: number } | undefined;
  #fresh: { seq: number; key: NameKey; labels: BotLabels | null }[] = [];

  constructor(names: NameHasher) {
    this.#names = names;
    // What is not in a block yet is not looked for, so that all that is looked for is known.
    this.history.known = Number.POSITIVE_INFINITY;
  }

  /** Takes up what the table has. */
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
    const isDeleted = status === 'deleted';
    const json = isDeleted ? '' : JSON.stringify(labels);
    const { low, high } = this.#names.of(id);
    const key: NameKey = [low, high];
    const now = this.#now.get(key.join());
    if (now?.json === json) return;
    if (isDeleted) this.#now.delete(key.join());
    else this.#now.set(key.join(), { json, key });
    const value = isDeleted ? null : labels;
    this.#set(seq, key, value);
    this.#fresh.push({ seq, key, labels: value });
  }

  /** Frames were missed: these are the snapshots as of just before frame `seq`. */
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

  /** Adds what is new to the table. In a transaction; {@link written} when that went well. */
  write({ labels }: Tables): void {
    for (const { seq, key, labels: value } of this.#fresh) labels.putSync([seq, ...key], value);
  }

  written(): void {
    this.#fresh = [];
  }

  /** Everything that counts now as if it were new: for a journal that begins. */
  renew(seq: number): void {
    this.#fresh = [...this.#now.values()].map(({ json, key }) => ({
      seq,
      key,
      labels: JSON.parse(json) as BotLabels,
    }));
  }

  /**
   * Forgets some of what ended before frame `oldest`. In a transaction. A row stays for as long as its span does; all rows
   * of a pass are looked at for one frame, so that a bot's older rows never outlive the one that ended them.
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
