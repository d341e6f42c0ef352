// Runs in the journal thread. Finds changes of one property of each bot in the snapshots that pass, and makes a table
// row of each.

import { type BotSnapshot, hasLeft } from '../shared/contract/events.js';
import type { NameHasher } from '../shared/contract/name-hash.js';
import type { NameKey } from './tables.js';

/** The value that the bot has from frame `seq` on; null when it has left. */
export interface BotChange<V> {
  seq: number;
  key: NameKey;
  value: V | null;
}

export class BotChanges<V> {
  readonly #names: NameHasher;
  readonly #read: (snapshot: BotSnapshot) => V;
  readonly #changed: (change: BotChange<V>) => void;
  /** The present value of each bot by its key, as JSON, so that a frame without a change costs one comparison. */
  readonly #now = new Map<string, { json: string; key: NameKey }>();
  #fresh: BotChange<V>[] = [];

  /** @param read what a bot has, by its snapshot. @param changed gets each change that a snapshot brings. */
  constructor(
    names: NameHasher,
    read: (snapshot: BotSnapshot) => V,
    changed: (change: BotChange<V>) => void = () => {},
  ) {
    this.#names = names;
    this.#read = read;
    this.#changed = changed;
  }

  /** Changes that are not in the table yet, in order. */
  get fresh(): readonly BotChange<V>[] {
    return this.#fresh;
  }

  /** A row of the table: later ones of a bot replace earlier ones. */
  load(key: NameKey, value: V | null): void {
    if (value === null) this.#now.delete(key.join());
    else this.#now.set(key.join(), { json: JSON.stringify(value), key });
  }

  /** A session frame has passed. */
  saw(seq: number, snapshot: BotSnapshot): void {
    const { low, high } = this.#names.of(snapshot.id);
    const key: NameKey = [low, high];
    const before = this.#now.get(key.join());
    if (hasLeft(snapshot.status)) {
      if (before) this.#left(seq, key);
      return;
    }
    const value = this.#read(snapshot);
    const json = JSON.stringify(value);
    if (before?.json === json) return;
    this.#now.set(key.join(), { json, key });
    this.#add({ seq, key, value });
  }

  /** After missed frames: these are the snapshots as of just before frame `seq`. */
  rebase(seq: number, snapshots: readonly BotSnapshot[]): void {
    const gone = new Map(this.#now);
    for (const snapshot of snapshots) {
      const { low, high } = this.#names.of(snapshot.id);
      gone.delete([low, high].join());
      this.saw(seq, snapshot);
    }
    for (const { key } of gone.values()) this.#left(seq, key);
  }

  /** All of {@link fresh} is in the table. */
  written(): void {
    this.#fresh = [];
  }

  /** Adds what all bots have now as changes: for a new journal. */
  renew(seq: number): void {
    this.#fresh = [...this.#now.values()].map(({ json, key }) => ({
      seq,
      key,
      value: JSON.parse(json) as V,
    }));
  }

  #left(seq: number, key: NameKey): void {
    this.#now.delete(key.join());
    this.#add({ seq, key, value: null });
  }

  #add(change: BotChange<V>): void {
    this.#fresh.push(change);
    this.#changed(change);
  }
}
