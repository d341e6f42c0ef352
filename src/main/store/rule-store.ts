// Runs in main. Owns the rules on disk, one LMDB entry each, by id.

import type { RuleSettings } from '../../shared/contract/rules.js';
import type { Store } from './store.js';

export class RuleStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): RuleSettings[] {
    const rules = this.#store.table<RuleSettings>('rules');
    return Array.from(rules.getRange(), ({ value }) => value);
  }

  /** On disk when this resolves. @throws DroverError `not_stored`. */
  put(rule: RuleSettings): Promise<void> {
    return this.#store.write([{ table: 'rules', key: rule.id, value: rule }]);
  }

  /** Removed from disk when this resolves. @throws DroverError `not_stored`. */
  remove(id: string): Promise<void> {
    return this.#store.write([{ table: 'rules', key: id }]);
  }
}
