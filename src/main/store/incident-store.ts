// Runs in main. Owns the incident reports on disk, and an index of them in memory.

import type { Incident, IncidentBot, IncidentReport } from '../../shared/contract/bots.js';
import { causeOf } from '../../shared/incidents/cause.js';
import type { Store } from './store.js';
import type { Table } from './store-file.js';

/** Stored incidents. One more removes the oldest. */
const MAX_INCIDENTS = 1000;
/** Size of one list in UTF-16 units of JSON, because main reads it in one go. Older incidents are left out. */
const MAX_LIST_UNITS = 2 * 1024 * 1024;
/** Incidents of one suspect, so that a bot that crashes repeatedly does not displace the others'. */
const MAX_OF_SUSPECT = 50;

/** An incident in the index. */
interface IndexEntry {
  id: string;
  suspect: string | null;
  cause: string;
  /** {@link hashOf} each bot that it names, and each other bot of the host, sorted. */
  bots: Uint32Array;
}

/** An incident as any version stored it: the first ones did not count repeats or omitted bots, and had no cause. */
type StoredIncident = Omit<
  Incident,
  'bot_count' | 'repeats' | 'repeated_at_ms' | 'cause' | 'last_lines_at_ms'
> &
  Partial<Incident> & {
    /** Bots of the host that it does not name, separated by spaces. Missing in older ones. */
    others?: string;
    /** Missing in the oldest. `incarnation` was called `made`. */
    identities?: (Omit<IncidentBot, 'incarnation'> & { incarnation?: string; made?: string })[];
  };

/** Returns an incident as one reader may see it; undefined leaves it out. */
export type ShowIncident = (
  incident: Incident,
  identities: readonly IncidentBot[],
) => Incident | undefined;

export class IncidentStore {
  readonly #store: Store;
  /** Oldest first. Bounded by MAX_INCIDENTS. */
  readonly #index: IndexEntry[];
  /** Called with each report that was stored, and again when it has repeated itself. Set by a cluster. */
  changed: (report: IncidentReport) => void = () => {};

  constructor(store: Store) {
    this.#store = store;
    this.#index = Array.from(this.#incidents.getRange(), ({ value }) => entryOf(value));
  }

  /**
   * Newest first, as many as fit MAX_LIST_UNITS, at least one. Reads only the incidents that it returns: one can name
   * many bots.
   * @param bots those of one of these bots; null for all. @param cause only those of this one.
   */
  list(
    bots: readonly string[] | null,
    limit: number,
    show: ShowIncident = (incident) => incident,
    cause?: string,
  ): Incident[] {
    const wanted = bots && sortedHashes(bots);
    const named = new Set(bots);
    const found: Incident[] = [];
    let units = 0;
    for (let at = this.#index.length - 1; at >= 0 && found.length < limit; at--) {
      const { id, cause: ofThis, bots: hashes } = this.#index[at] as IndexEntry;
      if (cause !== undefined && cause !== ofThis) continue;
      if (wanted && !overlap(wanted, hashes)) continue;
      const incident = this.#incidents.get(id);
      // Two names can have the same hash.
      if (!incident || (wanted && !botsOf(incident).some((bot) => named.has(bot)))) continue;
      const shown = show(filled(incident), identitiesOf(incident));
      if (!shown) continue;
      units += JSON.stringify(shown).length;
      if (units > MAX_LIST_UNITS && found.length > 0) break;
      found.push(shown);
    }
    return found;
  }

  /** The newest so many, the oldest first. */
  *newest(count: number): Generator<IncidentReport> {
    for (const { id } of this.#index.slice(-count)) {
      const stored = this.#incidents.get(id);
      if (stored) yield { incident: filled(stored), identities: identitiesOf(stored) };
    }
  }

  /** Oldest first, one at a time. */
  *all(): Generator<Incident> {
    for (const { value } of this.#incidents.getRange()) yield filled(value);
  }

  /**
   * @param identities of the bots that it names. @param others bots of the host that it does not name.
   * @throws DroverError `not_stored`.
   */
  async add(
    incident: Incident,
    identities: IncidentBot[] = [],
    others: readonly string[] = [],
  ): Promise<void> {
    const stored = { ...incident, identities, others: others.join(' ') };
    const entry = entryOf(stored);
    // Before the wait, because another incident may be added meanwhile.
    this.#index.push(entry);
    const surplus = this.#surplus(incident.suspect);
    for (const { id } of surplus) this.#leave(id);
    try {
      await this.#store.write([
        // Ids begin with the time, so the order of the keys is that of the incidents.
        { table: 'incidents', key: incident.id, value: stored },
        ...surplus.map(({ id }) => ({ table: 'incidents' as const, key: id })),
      ]);
    } catch (thrown) {
      this.#leave(entry.id);
      for (const kept of surplus) this.#index.push(kept);
      this.#index.sort((a, b) => (a.id < b.id ? -1 : 1));
      throw thrown;
    }
    this.changed({ incident, identities });
  }

  /** Counts a repetition. @returns the suspect; undefined also when the incident is no longer stored. */
  async repeat(id: string, count: number, at: number): Promise<string | null | undefined> {
    // An incident that is being removed can still be read.
    const isStored = this.#index.some((other) => other.id === id);
    const incident = isStored ? this.#incidents.get(id) : undefined;
    if (!incident) return undefined;
    const repeats = (incident.repeats ?? 0) + count;
    const value = { ...incident, repeats, repeated_at_ms: at };
    await this.#store.write([{ table: 'incidents', key: id, value }]);
    this.changed({ incident: filled(value), identities: identitiesOf(value) });
    return incident.suspect;
  }

  get #incidents(): Table<StoredIncident> {
    return this.#store.table<StoredIncident>('incidents');
  }

  /** The incidents above the limits, at most one. */
  #surplus(suspect: string | null): IndexEntry[] {
    const ofSuspect = this.#index.filter((other) => other.suspect === suspect);
    if (suspect !== null && ofSuspect.length > MAX_OF_SUSPECT) return ofSuspect.slice(0, 1);
    return this.#index.length > MAX_INCIDENTS ? this.#index.slice(0, 1) : [];
  }

  #leave(id: string): void {
    const at = this.#index.findIndex((other) => other.id === id);
    if (at >= 0) this.#index.splice(at, 1);
  }
}

/** As {@link IncidentStore.list}. @param reports of other nodes, the newest first. */
export function listOf(
  reports: readonly IncidentReport[],
  bots: readonly string[] | null,
  limit: number,
  show: ShowIncident = (incident) => incident,
  cause?: string,
): Incident[] {
  const named = new Set(bots);
  return reports
    .filter(({ incident }) => cause === undefined || incident.cause === cause)
    .filter(({ incident }) => bots === null || botsOf(incident).some((bot) => named.has(bot)))
    .flatMap(({ incident, identities }) => show(incident, identities) ?? [])
    .slice(0, limit);
}

/** Fills in the fields that earlier versions did not store. */
function filled({ identities: _, others: __, ...known }: StoredIncident): Incident {
  return {
    bot_count: known.bots.length,
    repeats: 0,
    repeated_at_ms: null,
    last_lines_at_ms: [],
    cause: known.cause ?? causeOf(known).cause,
    ...known,
  };
}

function identitiesOf({ identities = [] }: StoredIncident): IncidentBot[] {
  return identities.map(({ made = '', ...bot }) => ({ incarnation: made, ...bot }));
}

type OfBots = Pick<StoredIncident, 'suspect' | 'bots' | 'others'>;

function entryOf(incident: StoredIncident): IndexEntry {
  const { id, suspect, cause = causeOf(incident).cause } = incident;
  return { id, suspect, cause, bots: sortedHashes(botsOf(incident)) };
}

function botsOf({ bots, suspect, others = '' }: OfBots): string[] {
  return [
    ...bots,
    ...(suspect === null ? [] : [suspect]),
    ...(others === '' ? [] : others.split(' ')),
  ];
}

function sortedHashes(bots: readonly string[]): Uint32Array {
  return Uint32Array.from(bots, hashOf).sort();
}

/** FNV-1a. A collision only means that one more incident is read. */
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
