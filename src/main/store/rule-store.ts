// Runs in main. Owns the rules on disk, one LMDB entry each, by id.

import type { RuleSettings } from '../../shared/contract/rules.js';
import type { Store } from './store.js';
import type { Table } from './store-file.js';

interface StoredRule extends RuleSettings {
  /** When the cluster's rule was changed of which this is a copy, in Unix epoch ms. Absent for a rule of this node alone. */
  changed_at_ms?: number;
}

export class RuleStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  all(): RuleSettings[] {
    return Array.from(this.#rules.getRange(), ({ value }) => ruleOf(value));
  }

  /** `changedAt` is null when it is no copy of a rule of a cluster. */
  get(id: string): { rule: RuleSettings; changedAt: number | null } | undefined {
    const stored = this.#rules.get(id);
    return stored && { rule: ruleOf(stored), changedAt: stored.changed_at_ms ?? null };
  }

  /** On disk when this resolves. @param changedAt as of {@link get}. @throws DroverError `not_stored`. */
  put(rule: RuleSettings, changedAt: number | null = null): Promise<void> {
    const value: StoredRule = { ...rule, ...(changedAt !== null && { changed_at_ms: changedAt }) };
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

function ruleOf({ changed_at_ms: _, ...rule }: StoredRule): RuleSettings {
  return rule;
}
