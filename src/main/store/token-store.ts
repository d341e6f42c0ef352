// Runs in main. Owns the tokens on disk, in LMDB: digests, never tokens.

import type { Database } from 'lmdb';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import type { Store } from './store.js';

/** A token as it was kept before there were scopes. */
type StoredToken = Pick<TokenRecord, 'id' | 'digest' | 'name' | 'created_at_ms'> &
  Partial<TokenRecord>;

export class TokenStore {
  readonly #store: Store;
  readonly #tokens: Database<StoredToken, string>;
  /** Apart from the tokens: written often, and a loss costs nothing. */
  readonly #uses: Database<number, string>;

  constructor(store: Store) {
    this.#store = store;
    this.#tokens = store.root.openDB<StoredToken, string>({ name: 'tokens' });
    this.#uses = store.root.openDB<number, string>({ name: 'token_uses' });
  }

  /** All tokens; those from before there were scopes were made with the PIN and may do everything. */
  all(): TokenRecord[] {
    return Array.from(this.#tokens.getRange(), ({ value }) => {
      const token = { scopes: ['admin' as const], reach: null, expires_at_ms: null, ...value };
      return { by_pin: looksMadeByPin(token), ...token };
    });
  }

  /** When each token was last used, in Unix epoch milliseconds, by id. */
  uses(): Map<string, number> {
    return new Map(Array.from(this.#uses.getRange(), ({ key, value }) => [key, value]));
  }

  /** On disk when this resolves. */
  async put(record: TokenRecord): Promise<void> {
    await this.#tokens.put(record.id, record);
    await this.#tokens.flushed;
    this.#store.changed();
  }

  /** Gone from the disk when this resolves. */
  async remove(id: string): Promise<void> {
    // A loss costs nothing: nobody asks for it without its token.
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

/** For tokens from before it was kept who made them: all that the PIN made are like this. */
function looksMadeByPin({ name, scopes, expires_at_ms }: Omit<TokenRecord, 'by_pin'>): boolean {
  return name === 'pin' && scopes.includes('admin') && expires_at_ms === null;
}
