// Runs in main. Owns the last use of each token: when and where. It is written to disk from time to time.

import type { TokenUse } from '../../shared/contract/tokens.js';
import type { TokenStore } from '../store/token-store.js';

/** How often last uses are written to disk, in ms. */
const SAVE_MS = 60_000;

export class LastUses {
  readonly #store: Pick<TokenStore, 'uses' | 'putUses'>;
  /** At most one for each token. */
  readonly #uses: Map<string, TokenUse>;
  /** Those that are not on disk yet. */
  readonly #unsaved = new Map<string, TokenUse>();
  readonly #saver: NodeJS.Timeout;

  constructor(store: Pick<TokenStore, 'uses' | 'putUses'>) {
    this.#store = store;
    this.#uses = store.uses();
    this.#saver = setInterval(() => void this.#save(), SAVE_MS);
  }

  /** Undefined before the first. */
  get(id: string): TokenUse | undefined {
    return this.#uses.get(id);
  }

  /** @param isStored whether it is also kept on disk. @returns whether it is news. */
  note(id: string, use: TokenUse, isStored: boolean): boolean {
    const before = this.#uses.get(id);
    if (use.at_ms <= (before?.at_ms ?? 0)) return false;
    const known = { at_ms: use.at_ms, from: use.from ?? before?.from ?? null };
    this.#uses.set(id, known);
    if (isStored) this.#unsaved.set(id, known);
    return true;
  }

  /** The token is gone. */
  forget(id: string): void {
    this.#uses.delete(id);
    this.#unsaved.delete(id);
  }

  /** All are on disk when this resolves, unless the disk fails. */
  async stop(): Promise<void> {
    clearInterval(this.#saver);
    await this.#save();
  }

  async #save(): Promise<void> {
    const uses = new Map(this.#unsaved);
    this.#unsaved.clear();
    if (uses.size === 0) return;
    try {
      await this.#store.putUses(uses);
    } catch {
      // Later ones are newer.
      for (const [id, use] of uses) {
        if (this.#uses.has(id) && !this.#unsaved.has(id)) this.#unsaved.set(id, use);
      }
    }
  }
}
