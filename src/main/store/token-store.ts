// Runs in main. Owns the tokens on disk: digests, never tokens.

import type { Database } from 'lmdb';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import type { Store } from './store.js';

/** A token as any version stored it: the first ones had no scopes. */
type StoredToken = Pick<TokenRecord, 'id' | 'digest' | 'name' | 'created_at_ms'> &
  Partial<TokenRecord>;

export class TokenStore {
  readonly #store: Store;
  readonly #tokens: Database<StoredToken, string>;
  /** Stored separately, because they are written often and a loss is harmless. */
  readonly #uses: Database<number, string>;

  constructor(store: Store) {
    this.#store = store;
    this.#tokens = store.root.openDB<StoredToken, string>({ name: 'tokens' });
    this.#uses = store.root.openDB<number, string>({ name: 'token_uses' });
  }

  /** Tokens without scopes were created with the PIN, and may do everything. */
  all(): TokenRecord[] {
    return Array.from(this.#tokens.getRange(), ({ value }) => {
      const token = { scopes: ['admin' as const], reach: null, expires_at_ms: null, ...value };
      return { by_pin: looksCreatedByPin(token), ...token };
    });
  }

  /** Times of last use in Unix epoch milliseconds, by id. */
  uses(): Map<string, number> {
    return new Map(Array.from(this.#uses.getRange(), ({ key, value }) => [key, value]));
  }

  /** On disk when this resolves. */
  async put(record: TokenRecord): Promise<void> {
    await this.#tokens.put(record.id, record);
    await this.#tokens.flushed;
    this.#store.changed();
  }

  /** Removed from disk when this resolves. */
  async remove(id: string): Promise<void> {
    // An error is harmless: nothing reads it without its token.
    this.#uses.remove(id).catch(() => {});
    await this.#tokens.remove(id);
    await this.#tokens.flushed;
    this.#store.changed();
  }

  /** Written in the background; on disk when this resolves. */
  async putUses(uses: ReadonlyMap<string, number>): Promise<void> {
    await Promise.all([...uses].map(([id, at]) => this.#uses.put(id, at)));
  }
}

/** For tokens of versions that did not store who created them: all PIN tokens are like this. */
function looksCreatedByPin({ name, scopes, expires_at_ms }: Omit<TokenRecord, 'by_pin'>): boolean {
  return name === 'pin' && scopes.includes('admin') && expires_at_ms === null;
}
