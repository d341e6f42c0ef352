// Pure; runs in tabs. Owns the rows of a log: numbered, and bounded in number and in characters, at whichever end is let go.

import type { Line } from '../hub/messages.js';

export interface Bounds {
  rows: number;
  chars: number;
}

/** How far over a bound they may come: cutting an array costs its length. */
const SLACK = 1.1;

export class LogRows {
  /** Oldest first. */
  list: readonly Line[] = [];
  /** Number of the first row: lower with what is put before it, higher with what is cut off. */
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

  /** Whether these would be too many with what is there. */
  hasRoomFor(lines: readonly Line[], { rows, chars }: Bounds): boolean {
    return this.list.length + lines.length <= rows && this.#chars + charsOf(lines) <= chars;
  }

  /** Cuts off the oldest when there are too many. @returns whether it did. */
  cutOldest(bounds: Bounds): boolean {
    if (!this.#isOver(bounds)) return false;
    let cut = 0;
    while (this.#exceeds(bounds, cut)) this.#chars -= sizeOf(this.list[cut++]);
    this.list = this.list.slice(cut);
    this.base += cut;
    return true;
  }

  /** The same with the newest. */
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
    // One is always left, however long it is.
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
