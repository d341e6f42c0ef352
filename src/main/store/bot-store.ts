// Runs in main. Owns the bots on disk, one LMDB entry each. A crash leaves the old entry or the new one.

import type { Database } from 'lmdb';
import type { BotSpec } from '../../shared/contract/bots.js';
import type { Store } from './store.js';

/** A bot as earlier versions stored it: `incarnation` was called `made`. */
type StoredBot = BotSpec & { made?: string };

export class BotStore {
  readonly #store: Store;
  readonly #bots: Database<StoredBot, string>;

  constructor(store: Store) {
    this.#store = store;
    this.#bots = store.root.openDB<StoredBot, string>({ name: 'bots' });
  }

  all(): BotSpec[] {
    return Array.from(this.#bots.getRange(), ({ value: { made, ...spec } }) =>
      made === undefined ? spec : { incarnation: made, ...spec },
    );
  }

  /** On disk when this resolves. */
  async put(spec: BotSpec): Promise<void> {
    await this.#bots.put(spec.id, spec);
    await this.#bots.flushed;
    this.#store.changed();
  }

  /** Removed from disk when this resolves. */
  async remove(id: string): Promise<void> {
    await this.#bots.remove(id);
    await this.#bots.flushed;
    this.#store.changed();
  }
}
