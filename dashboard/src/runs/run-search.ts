// Runs in the worker of a run. Owns the rows that one query lets through, as far as they are found.

import { firstWhere } from '../model/first-where.js';
import { Words } from './columns.js';
import type { Part } from './run-facts.js';

export class RunSearch {
  readonly #all: number;
  /** Undefined when every row passes. */
  readonly #rows: Words | undefined;
  /** Rows from here on are not tested yet. */
  seen: number;
  /** It was cancelled before it had tested all rows. */
  isEnded = false;
  #error: Error | undefined;
  #isDone: boolean;
  readonly #onPart = new Set<(part: Part) => void>();
  #waiting: (() => void)[] = [];

  constructor(all: number, isPartial: boolean) {
    this.#all = all;
    this.#rows = isPartial ? new Words() : undefined;
    this.seen = isPartial ? 0 : all;
    this.#isDone = !isPartial;
  }

  /** Calls it until the search is done. */
  onPart(onPart: (part: Part) => void): void {
    if (!this.#isDone) this.#onPart.add(onPart);
  }

  add(row: number): void {
    this.#rows?.push(row);
  }

  /** Rows before this one are tested. */
  saw(seen: number): void {
    this.seen = seen;
    const part = { n: this.indexOf(seen), share: seen / Math.max(1, this.#all) };
    for (const onPart of this.#onPart) onPart(part);
    this.#wake();
  }

  finish(error?: Error): void {
    this.#error = error;
    this.#isDone = true;
    if (!this.isEnded && !error) this.seen = this.#all;
    this.#onPart.clear();
    this.#wake();
  }

  end(): void {
    if (this.#isDone) return;
    this.isEnded = true;
    this.finish();
  }

  /** Resolves when enough is found, or the search is over. */
  async until(isEnough: () => boolean): Promise<void> {
    while (!this.#isDone && !isEnough()) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    if (this.#error) throw this.#error;
  }

  /** The number among the found rows of the first one that is not before this row. */
  indexOf(row: number): number {
    const rows = this.#rows;
    if (!rows) return Math.min(row, this.#all);
    return firstWhere(0, rows.length, (index) => rows.at(index) >= row);
  }

  rowOf(index: number): number {
    return this.#rows ? this.#rows.at(index) : index;
  }

  #wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }
}
