// Runs in main. Owns the bots on disk, one LMDB entry each. A crash leaves the old entry or the new one.

import type { BotSpec } from '../../shared/contract/bots.js';
import type { Store } from './store.js';
import type { Change, Table } from './store-file.js';

/** A bot as earlier versions stored it: `incarnation` was called `made`. */
type StoredBot = BotSpec & { made?: string };

export class BotStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): BotSpec[] {
    return Array.from(this.#bots.getRange(), ({ value: { made, ...spec } }) =>
      made === undefined ? spec : { incarnation: made, ...spec },
    );
  }

  has(id: string): boolean {
    return this.#bots.get(id) !== undefined;
  }

  /** On disk when this resolves. @throws DroverError `not_stored`. */
  put(spec: BotSpec): Promise<void> {
    const old = this.#bots.get(spec.id)?.config;
    // A password that was replaced is as secret as one that was removed.
    const erases = old !== undefined && JSON.stringify(old) !== JSON.stringify(spec.config);
    return this.#store.write([{ table: 'bots', key: spec.id, value: spec }], erases);
  }

  /** New bots, all of which are on disk when this resolves; or none. @throws DroverError `not_stored`. */
  putMany(specs: readonly BotSpec[]): Promise<void> {
    return this.#store.write(specs.map((spec) => ({ table: 'bots', key: spec.id, value: spec })));
  }

  /** Removed from disk when this resolves. @throws DroverError `not_stored`. */
  remove(id: string): Promise<void> {
    const isGiven = this.isHandedOver(id);
    return this.#store.write(
      [{ table: 'bots', key: id }, ...(isGiven ? [mark(id, false)] : [])],
      true,
    );
  }

  /** Whether another node of the cluster may have it: the disk keeps it until that is known. */
  isHandedOver(id: string): boolean {
    return this.#store.table<true>('given_away').get(id) !== undefined;
  }

  /** On disk when this resolves. @throws DroverError `not_stored`. */
  async setHandedOver(id: string, isGiven: boolean): Promise<void> {
    if (this.isHandedOver(id) !== isGiven) await this.#store.write([mark(id, isGiven)]);
  }

  get #bots(): Table<StoredBot> {
    return this.#store.table<StoredBot>('bots');
  }
}

function mark(key: string, isGiven: boolean): Change {
  return { table: 'given_away', key, ...(isGiven && { value: true }) };
}
