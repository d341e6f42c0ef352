export interface Numbered {
  n: number;
}

/** Share of the items dropped at once, because cutting an array costs its length. */
const CUT_SHARE = 0.1;

/** The last items of a numbered sequence, bounded in number and size. */
export class Ring<T extends Numbered> {
  #items: T[] = [];
  #next = 1;
  #chars = 0;
  readonly #max: number;
  readonly #maxChars: number;
  readonly #charsOf: (item: T) => number;

  /** Beyond `max` items or `maxChars` characters the oldest are dropped. */
  constructor(
    max: number,
    maxChars = Number.POSITIVE_INFINITY,
    charsOf: (item: T) => number = () => 0,
  ) {
    this.#max = max;
    this.#maxChars = maxChars;
    this.#charsOf = charsOf;
  }

  /** Number of the next item. */
  get next(): number {
    return this.#next;
  }

  /** Number of the oldest item. */
  get first(): number {
    return this.#next - this.#items.length;
  }

  push(item: Omit<T, 'n'>): void {
    const numbered = { ...item, n: this.#next++ } as T;
    this.#items.push(numbered);
    this.#chars += this.#charsOf(numbered);
    if (this.#items.length > this.#max || this.#chars > this.#maxChars) this.#cut();
  }

  /** All items from number `n`. */
  from(n: number): T[] {
    return this.#items.slice(Math.max(0, n - this.first));
  }

  clear(): void {
    this.#items = [];
    this.#chars = 0;
  }

  #cut(): void {
    let cut = Math.ceil(this.#items.length * CUT_SHARE);
    let chars = 0;
    for (let at = 0; at < cut; at++) chars += this.#charsOf(this.#items[at] as T);
    while (this.#chars - chars > this.#maxChars && cut < this.#items.length) {
      chars += this.#charsOf(this.#items[cut++] as T);
    }
    this.#items = this.#items.slice(cut);
    this.#chars -= chars;
  }
}
