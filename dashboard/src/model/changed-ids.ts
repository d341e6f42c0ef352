// Runs in tabs. Owns the list of the ids that changed last, so that a view that is drawn again visits only those.

export class ChangedIds {
  readonly #most: number;
  #ids: string[] = [];
  /** Number of ids that were noted before the first one. */
  #before = 0;

  /** @param most how many are kept; a view that is further behind visits every bot. */
  constructor(most: number) {
    this.#most = most;
  }

  /** The bot was added, changed or removed. */
  add(id: string): void {
    if (this.#ids.length >= 2 * this.#most) this.#drop(this.#most);
    this.#ids.push(id);
  }

  /** Anything may be different. */
  forget(): void {
    this.#drop(this.#ids.length);
    this.#before += 1;
  }

  /** @param version that the last call returned; -1 for the first call. @returns undefined for `ids` when anything may have changed. */
  since(version: number): { version: number; ids: ReadonlySet<string> | undefined } {
    const isKnown = version >= this.#before;
    const ids = isKnown ? new Set(this.#ids.slice(version - this.#before)) : undefined;
    return { version: this.#before + this.#ids.length, ids };
  }

  #drop(count: number): void {
    this.#ids.splice(0, count);
    this.#before += count;
  }
}
