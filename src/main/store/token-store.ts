// Runs in main. Owns the tokens on disk: digests, never tokens.

import type { TokenRecord, TokenUse } from '../../shared/contract/tokens.js';
import type { Store } from './store.js';
import type { Change } from './store-file.js';

/** A token as any version stored it: the first ones had no scopes. */
type StoredToken = Pick<TokenRecord, 'id' | 'digest' | 'name' | 'created_at_ms'> &
  Partial<TokenRecord>;

export class TokenStore {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Tokens without scopes were created with the PIN, and may do everything. */
  all(): TokenRecord[] {
    return Array.from(this.#store.table<StoredToken>('tokens').getRange(), ({ value }) => {
      const token = {
        scopes: ['admin' as const],
        reach: null,
        expires_at_ms: null,
        created_by: null,
        ...value,
      };
      return { by_pin: looksCreatedByPin(token), ...token };
    });
  }

  /** Last uses, by id. In their own table, because they are written often. The first versions stored only the time. */
  uses(): Map<string, TokenUse> {
    const uses = this.#store.table<TokenUse | number>('token_uses').getRange();
    return new Map(
      Array.from(uses, ({ key, value }) => [
        key,
        typeof value === 'number' ? { at_ms: value, from: null } : value,
      ]),
    );
  }

  /** On disk when this resolves. @param replaces is removed by the same commit. @throws DroverError `not_stored`. */
  put(record: TokenRecord, replaces?: string): Promise<void> {
    const removals = replaces === undefined ? [] : removalOf(replaces);
    return this.#store.write([{ table: 'tokens', key: record.id, value: record }, ...removals]);
  }

  /** Removed from disk when this resolves. @throws DroverError `not_stored`. */
  remove(id: string): Promise<void> {
    return this.#store.write(removalOf(id));
  }

  /** On disk when this resolves. @throws DroverError `not_stored`. */
  putUses(uses: ReadonlyMap<string, TokenUse>): Promise<void> {
    return this.#store.write(
      Array.from(uses, ([key, value]) => ({ table: 'token_uses', key, value })),
    );
  }
}

function removalOf(key: string): Change[] {
  return [
    { table: 'token_uses', key },
    { table: 'tokens', key },
  ];
}

/** For tokens of versions that did not store who created them: PIN tokens look like this. */
function looksCreatedByPin({ name, scopes, expires_at_ms }: Omit<TokenRecord, 'by_pin'>): boolean {
  return name === 'pin' && scopes.includes('admin') && expires_at_ms === null;
}
