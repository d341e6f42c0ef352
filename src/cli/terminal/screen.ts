// Owns the screen of a live table: the terminal's second screen, and the keys, until it is closed.

import { type Printed, SCREEN, write } from '../../shared/terminal.js';
import { stopSignal } from '../stop-signals.js';

/** q, Ctrl-C, which is no signal while single keys are read, and Escape. */
const END_KEYS = ['q', '\u0003', '\u001b'];

export class Screen {
  readonly #onKey: (key: string) => void;
  /** Resolves for {@link next}. */
  #wake = (): void => {};
  #isOver = false;

  /** @param onKey is called with each key except those that close the table: q, Escape, Ctrl-C. */
  constructor(onKey: (key: string) => void) {
    this.#onKey = onKey;
    write(process.stdout, SCREEN.open);
    if (process.stdin.isTTY) process.stdin.setRawMode(true);
    process.stdin.setEncoding('utf8').on('data', this.#read);
    process.stdout.on('resize', this.#resized);
    stopSignal.addEventListener('abort', this.#end);
  }

  /** Whether a key or a signal has closed it. */
  get isOver(): boolean {
    return this.#isOver || stopSignal.aborted;
  }

  /** Rows and columns. */
  get size(): { rows: number; columns: number } {
    return { rows: process.stdout.rows || 24, columns: process.stdout.columns || 80 };
  }

  /** Replaces the lines on the screen. */
  draw(lines: readonly Printed[]): void {
    const parts = lines.flatMap((line, at): Printed[] => [
      at === 0 ? SCREEN.top : '\n',
      line,
      SCREEN.clearRight,
    ]);
    write(process.stdout, ...parts, SCREEN.clearBelow);
  }

  /** Resolves after so long, or when a key was pressed, or at the end. */
  next(ms: number): Promise<void> {
    if (this.isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  close(): void {
    process.stdin.off('data', this.#read).pause();
    if (process.stdin.isTTY) process.stdin.setRawMode(false);
    process.stdout.off('resize', this.#resized);
    stopSignal.removeEventListener('abort', this.#end);
    write(process.stdout, SCREEN.close);
  }

  readonly #read = (text: string): void => {
    for (const key of text) {
      if (END_KEYS.includes(key)) this.#isOver = true;
      else this.#onKey(key);
    }
    this.#wake();
  };

  readonly #resized = (): void => this.#wake();

  readonly #end = (): void => {
    this.#isOver = true;
    this.#wake();
  };
}
