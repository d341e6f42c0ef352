// Runs in main. Owns the bots on disk: one LMDB entry for each, written in a transaction, so that a crash leaves the old
// entry or the new one.

import type { Database } from 'lmdb';
import type { BotSpec, Incident, IncidentBot } from '../../shared/contract/bots.js';
import type { Store } from './store.js';

/** Incidents that are kept; the oldest goes when there is one more. */
const MAX_INCIDENTS = 1000;
/** What one list of them holds, in UTF-16 units of JSON: main reads it in one go. Beyond it the older ones are left out. */
const MAX_LIST_UNITS = 2 * 1024 * 1024;
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

/** What is known of an incident without reading it. */
interface Kept {
  id: string;
  suspect: string | null;
  /** {@link hashOf} each bot that it names, in order. */
  bots: Uint32Array;
}

/** An incident as it was kept before repeats were counted and bots were left out. */
type StoredIncident = Omit<Incident, 'bot_count' | 'repeats' | 'repeated_at_ms'> &
  Partial<Incident> & {
    /** Not there in those from before it was kept. */
    identities?: IncidentBot[];
  };

/** What is told of an incident to somebody; undefined leaves it out. */
export type ShowIncident = (
  incident: Incident,
  identities: readonly IncidentBot[],
) => Incident | undefined;

export class IncidentStore {
  readonly #incidents: Database<StoredIncident, string>;
  /** What is there, oldest first. Bounded by MAX_INCIDENTS. */
  readonly #kept: Kept[];

  constructor(store: Store) {
    this.#incidents = store.root.openDB<StoredIncident, string>({ name: 'incidents' });
    this.#kept = Array.from(this.#incidents.getRange(), ({ value }) => keptOf(value));
  }

  /**
   * Newest first, as many as MAX_LIST_UNITS has room for, at least one. An incident can name many bots: only what is shown
   * is read.
   * @param bots those that name one of these; null for all. @param show what is told of one.
   */
  list(
    bots: readonly string[] | null,
    limit: number,
    show: ShowIncident = (incident) => incident,
  ): Incident[] {
    const wanted = bots && sortedHashes(bots);
    const named = new Set(bots);
    const found: Incident[] = [];
    let units = 0;
    for (let at = this.#kept.length - 1; at >= 0 && found.length < limit; at--) {
      const { id, bots: hashes } = this.#kept[at] as Kept;
      if (wanted && !overlap(wanted, hashes)) continue;
      const incident = this.#incidents.get(id);
      // Two names can have one hash.
      if (!incident || (wanted && !botsOf(incident).some((bot) => named.has(bot)))) continue;
      const { identities = [], ...known } = incident;
      const filled = { bot_count: known.bots.length, repeats: 0, repeated_at_ms: null, ...known };
      const shown = show(filled, identities);
      if (!shown) continue;
      units += JSON.stringify(shown).length;
      if (units > MAX_LIST_UNITS && found.length > 0) break;
      found.push(shown);
    }
    return found;
  }

  /** @param identities of the bots that it tells of. */
  async add(incident: Incident, identities: IncidentBot[] = []): Promise<void> {
    // Ids begin with the time, so that their order is that of the incidents.
    await this.#incidents.put(incident.id, { ...incident, identities });
    const { suspect } = incident;
    this.#kept.push(keptOf(incident));
    const own = this.#kept.filter((other) => other.suspect === suspect);
    if (suspect !== null && own.length > MAX_OF_SUSPECT) await this.#remove(own[0]);
    if (this.#kept.length > MAX_INCIDENTS) await this.#remove(this.#kept[0]);
  }

  /** Counts what happened again. @returns the suspect; undefined also when the incident is not kept any more. */
  async repeat(id: string, count: number, at: number): Promise<string | null | undefined> {
    // One that is being removed can still be read.
    const kept = this.#kept.some((other) => other.id === id);
    const incident = kept ? this.#incidents.get(id) : undefined;
    if (!incident) return undefined;
    const repeats = (incident.repeats ?? 0) + count;
    await this.#incidents.put(id, { ...incident, repeats, repeated_at_ms: at });
    return incident.suspect;
  }

  async #remove(surplus: Kept | undefined): Promise<void> {
    if (!surplus) return;
    // Before the wait: another may be added meanwhile.
    this.#kept.splice(this.#kept.indexOf(surplus), 1);
    await this.#incidents.remove(surplus.id);
  }
}

function keptOf(incident: Pick<Incident, 'id' | 'suspect' | 'bots'>): Kept {
  const { id, suspect } = incident;
  return { id, suspect, bots: sortedHashes(botsOf(incident)) };
}

function botsOf({ bots, suspect }: Pick<Incident, 'suspect' | 'bots'>): string[] {
  return suspect === null ? bots : [...bots, suspect];
}

function sortedHashes(bots: readonly string[]): Uint32Array {
  return Uint32Array.from(bots, hashOf).sort();
}

/** FNV-1a. Whoever makes two names meet makes one more incident be read, and no more. */
function hashOf(bot: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < bot.length; at++) {
    hash = Math.imul(hash ^ bot.charCodeAt(at), 0x01000193);
  }
  return hash >>> 0;
}

/** Whether two sorted lists have a number in common. */
function overlap(one: Uint32Array, other: Uint32Array): boolean {
  let at = 0;
  for (const number of one) {
    while (at < other.length && (other[at] as number) < number) at += 1;
    if (other[at] === number) return true;
  }
  return false;
}
