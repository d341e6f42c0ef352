/** Parts of a window: it moves by one of them at a time. */
const PARTS = 60;
const MIN_PART_MS = 250;

/** How many lines there were within the last so many ms, to a sixtieth of the window. Pure but for its counts. */
export class WindowCount {
  readonly #partMs: number;
  readonly #counts: Uint32Array;
  /** Number of the part that is counted in, since the zero of the clock. */
  #part = 0;
  #total = 0;

  constructor(windowMs: number) {
    this.#partMs = Math.max(MIN_PART_MS, windowMs / PARTS);
    this.#counts = new Uint32Array(Math.round(windowMs / this.#partMs));
  }

  /** @param now monotonic, in ms. */
  add(now: number): void {
    this.#moveTo(now);
    const at = this.#part % this.#counts.length;
    this.#counts[at] = (this.#counts[at] as number) + 1;
    this.#total += 1;
  }

  total(now: number): number {
    this.#moveTo(now);
    return this.#total;
  }

  #moveTo(now: number): void {
    const part = Math.floor(now / this.#partMs);
    const counts = this.#counts;
    if (part - this.#part >= counts.length) {
      counts.fill(0);
      this.#total = 0;
      this.#part = part;
    }
    while (this.#part < part) {
      this.#part += 1;
      const at = this.#part % counts.length;
      this.#total -= counts[at] as number;
      counts[at] = 0;
    }
  }
}
