// Runs in tabs. Owns the list of the ids that changed last, so that a view that looks again looks only at those.

export class ChangedIds {
  readonly #most: number;
  #ids: string[] = [];
  /** How many were noted before the first of them. */
  #before = 0;

  /** @param most how many are kept; a view that is further behind looks at everything. */
  constructor(most: number) {
    this.#most = most;
  }

  /** It has changed, or it has come or gone. */
  add(id: string): void {
    if (this.#ids.length >= 2 * this.#most) this.#drop(this.#most);
    this.#ids.push(id);
  }

  /** Anything may be different. */
  forget(): void {
    this.#drop(this.#ids.length);
    this.#before += 1;
  }

  /** @param place of the last look; -1 for none. @returns undefined for `ids` when anything may be different. */
  since(place: number): { place: number; ids: ReadonlySet<string> | undefined } {
    const isKnown = place >= this.#before;
    const ids = isKnown ? new Set(this.#ids.slice(place - this.#before)) : undefined;
    return { place: this.#before + this.#ids.length, ids };
  }

  #drop(count: number): void {
    this.#ids.splice(0, count);
    this.#before += count;
  }
}
