import type { Line } from '../hub/messages.js';

export interface Bounds {
  rows: number;
  chars: number;
}

/** Rows are cut in batches, because cutting an array costs its length. */
const SLACK = 1.1;

/** The rows of a log, numbered and bounded. Either end can be cut. */
export class LogRows {
  /** Oldest first. */
  list: readonly Line[] = [];
  /** Number of the first row. Decreases when rows are prepended, increases when the oldest are cut. */
  base = 0;
  #chars = 0;

  clear(): void {
    this.list = [];
    this.base = 0;
    this.#chars = 0;
  }

  append(lines: readonly Line[]): void {
    for (const line of lines) (this.list as Line[]).push(line);
    this.#chars += charsOf(lines);
  }

  prepend(lines: readonly Line[]): void {
    this.list = [...lines, ...this.list];
    this.base -= lines.length;
    this.#chars += charsOf(lines);
  }

  /** Whether these lines fit within the bounds. */
  hasRoomFor(lines: readonly Line[], { rows, chars }: Bounds): boolean {
    return this.list.length + lines.length <= rows && this.#chars + charsOf(lines) <= chars;
  }

  /** Cuts the oldest rows if there are too many. @returns whether it did. */
  cutOldest(bounds: Bounds): boolean {
    if (!this.#isOver(bounds)) return false;
    let cut = 0;
    while (this.#exceeds(bounds, cut)) this.#chars -= sizeOf(this.list[cut++]);
    this.list = this.list.slice(cut);
    this.base += cut;
    return true;
  }

  /** Cuts the newest rows if there are too many. @returns whether it did. */
  cutNewest(bounds: Bounds): boolean {
    if (!this.#isOver(bounds)) return false;
    let cut = 0;
    while (this.#exceeds(bounds, cut)) this.#chars -= sizeOf(this.list.at(-++cut));
    this.list = this.list.slice(0, -cut);
    return true;
  }

  #isOver({ rows, chars }: Bounds): boolean {
    return this.list.length > rows * SLACK || this.#chars > chars * SLACK;
  }

  #exceeds({ rows, chars }: Bounds, cut: number): boolean {
    const left = this.list.length - cut;
    // At least one row always stays.
    return left > 1 && (left > rows || this.#chars > chars);
  }
}

function charsOf(lines: readonly Line[]): number {
  let chars = 0;
  for (const line of lines) chars += sizeOf(line);
  return chars;
}

function sizeOf(line: Line | undefined): number {
  return line?.text.length ?? 0;
}
