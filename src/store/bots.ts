// Runs in main. Owns the bots on disk: one LMDB entry for each, written in a transaction, so that a crash leaves the old
// entry or the new one.

import type { Database } from 'lmdb';
import type { BotSpec, Incident } from '../contract/bots.js';
import type { Store } from './store.js';

/** Incidents that are kept; the oldest goes when there is one more. */
const MAX_INCIDENTS = 1000;
/** Those of one suspect, so that a bot that crashes over and over does not drive out all others'. */
const MAX_OF_SUSPECT = 50;

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
  /** What is there, oldest first. Bounded by MAX_INCIDENTS. */
  readonly #kept: Pick<Incident, 'id' | 'suspect'>[];

  constructor(store: Store) {
    this.#incidents = store.root.openDB<Incident, string>({ name: 'incidents' });
    this.#kept = Array.from(this.#incidents.getRange(), ({ value: { id, suspect } }) => ({
      id,
      suspect,
    }));
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
    const { id, suspect } = incident;
    this.#kept.push({ id, suspect });
    const own = this.#kept.filter((other) => other.suspect === suspect);
    if (suspect !== null && own.length > MAX_OF_SUSPECT) await this.#remove(own[0]);
    if (this.#kept.length > MAX_INCIDENTS) await this.#remove(this.#kept[0]);
  }

  async #remove(surplus: Pick<Incident, 'id' | 'suspect'> | undefined): Promise<void> {
    if (!surplus) return;
    // Before the wait: another may be added meanwhile.
    this.#kept.splice(this.#kept.indexOf(surplus), 1);
    await this.#incidents.remove(surplus.id);
  }
}
