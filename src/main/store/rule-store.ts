// Runs in main. Owns the rules on disk, one LMDB entry each, by id.

import type { RuleSettings } from '../../shared/contract/rules.js';
import type { Store } from './store.js';
import type { Table } from './store-file.js';

interface StoredRule extends RuleSettings {
  /** It is the copy of a rule of a cluster. */
  isShared?: true;
}

export class RuleStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): RuleSettings[] {
    return Array.from(this.#rules.getRange(), ({ value }) => ruleOf(value));
  }

  get(id: string): { rule: RuleSettings; isShared: boolean } | undefined {
    const stored = this.#rules.get(id);
    return stored && { rule: ruleOf(stored), isShared: stored.isShared ?? false };
  }

  /** On disk when this resolves. @throws DroverError `not_stored`. */
  put(rule: RuleSettings, isShared = false): Promise<void> {
    const value: StoredRule = { ...rule, ...(isShared && { isShared }) };
    return this.#store.write([{ table: 'rules', key: rule.id, value }]);
  }

  /** Removed from disk when this resolves. @throws DroverError `not_stored`. */
  remove(id: string): Promise<void> {
    return this.#store.write([{ table: 'rules', key: id }]);
  }

  get #rules(): Table<StoredRule> {
    return this.#store.table<StoredRule>('rules');
  }
}

function ruleOf({ isShared: _, ...rule }: StoredRule): RuleSettings {
  return rule;
}
