// Runs in main. Owns the groups of incidents on disk, one LMDB entry each, by cause.

import type { IncidentGroup } from '../../shared/contract/incident-groups.js';
import type { Store } from './store.js';

/** A group as it is stored. */
export interface StoredGroup extends Omit<IncidentGroup, 'bots' | 'counts' | 'nodes'> {
  /** Separated by spaces. */
  bots: string;
  moments: number[];
}

export class IncidentGroupStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): StoredGroup[] {
    const groups = this.#store.table<StoredGroup>('incident_groups');
    return Array.from(groups.getRange(), ({ value }) => value);
  }

  /** Stores groups by cause, and removes those without a value. @throws DroverError `not_stored`. */
  write(changes: ReadonlyMap<string, StoredGroup | undefined>): Promise<void> {
    return this.#store.write(
      [...changes].map(([key, value]) => ({
        table: 'incident_groups' as const,
        key,
        ...(value && { value }),
      })),
    );
  }
}
