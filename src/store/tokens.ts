// Runs in main. Owns the tokens on disk, in LMDB: digests, never tokens.

import { randomBytes, randomUUID } from 'node:crypto';
import type { Database } from 'lmdb';
import type { TokenRecord } from '../contract/threads.js';
import type { Store } from './store.js';
import { tokenDigest } from './token-digest.js';

/** Bytes of a token (interface-seed §2.2). */
const TOKEN_BYTES = 48;

export class TokenStore {
  readonly #store: Store;
  readonly #tokens: Database<TokenRecord, string>;

  constructor(store: Store) {
    this.#store = store;
    this.#tokens = store.root.openDB<TokenRecord, string>({ name: 'tokens' });
  }

  all(): TokenRecord[] {
    return Array.from(this.#tokens.getRange(), ({ value }) => value);
  }

  /** Makes a token. It is on disk when this resolves; the token itself is not kept anywhere. */
  async create(name: string): Promise<{ token: string; record: TokenRecord }> {
    const token = randomBytes(TOKEN_BYTES).toString('base64');
    const record: TokenRecord = {
      id: randomUUID(),
      digest: tokenDigest(token),
      name,
      created_at_ms: Date.now(),
    };
    await this.#tokens.put(record.id, record);
    await this.#tokens.flushed;
    this.#store.changed();
    return { token, record };
  }
}
