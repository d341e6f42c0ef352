// Runs in main. Owns the bots on disk: one LMDB entry for each, written in a transaction, so that a crash leaves the old
// entry or the new one.

import type { Database } from 'lmdb';
import type { BotSpec, Incident } from '../contract/bots.js';
import type { Store } from './store.js';

/** Incidents that are kept; the oldest goes when there is one more. */
const MAX_INCIDENTS = 1000;

export class BotStore {
  readonly #store: Store;
  readonly #bots: Database<BotSpec, string>;

  constructor(store: Store) {
    this.#store = store;
    this.#bots = store.root.openDB<BotSpec, string>({ name: 'bots' });
  }

  all(): BotSpec[] {
    return Array.from(this.#bots.getRange(), ({ value }) => value);
  }

  /** On disk when this resolves. */
  async put(spec: BotSpec): Promise<void> {
    await this.#bots.put(spec.id, spec);
    await this.#bots.flushed;
    this.#store.changed();
  }

  /** Gone from the disk when this resolves. */
  async remove(id: string): Promise<void> {
    await this.#bots.remove(id);
    await this.#bots.flushed;
    this.#store.changed();
  }
}

export class IncidentStore {
  readonly #incidents: Database<Incident, string>;

  constructor(store: Store) {
    this.#incidents = store.root.openDB<Incident, string>({ name: 'incidents' });
  }

  /** Newest first; of one bot, or all. */
  list(bot: string | undefined, limit: number): Incident[] {
    const found: Incident[] = [];
    for (const { value } of this.#incidents.getRange({ reverse: true })) {
      if (bot !== undefined && value.suspect !== bot && !value.bots.includes(bot)) continue;
      found.push(value);
      if (found.length === limit) break;
    }
    return found;
  }

  async add(incident: Incident): Promise<void> {
    // Ids begin with the time, so that their order is that of the incidents.
    await this.#incidents.put(incident.id, incident);
    const surplus = this.#incidents.getCount() - MAX_INCIDENTS;
    if (surplus <= 0) return;
    for (const key of this.#incidents.getKeys({ limit: surplus }))
      await this.#incidents.remove(key);
  }
}
