// Runs in the relay thread. Owns the last lines that a bot host process has written to its standard error, and passes on what it
// prints to the output of the service: what bots print are their own lines already (src/bot-host/bot-output.ts), so this is from
// native code, from modules of kinds, and from Node itself when it ends.

import type { Readable } from 'node:stream';
import { safeText, write } from '../shared/terminal.js';

/** Of a crash, Node prints about 20 lines of native stack. */
const KEPT_LINES = 40;
const LINE_CHARS = 500;
/** Characters that are passed on within {@link PERIOD_MS}. The output is one for all, and its reader may be slow: more is skipped. */
const PASSED_CHARS = 64 * 1024;
const PERIOD_MS = 1000;

export class ProcessOutput {
  readonly #name: string;
  /** The last ones, the one that is being written included. */
  #lines: string[] = [''];
  #passed = 0;
  #since = 0;
  #isTold = false;

  /** @param name of the process, for a line about what was skipped. */
  constructor(name: string) {
    this.#name = name;
  }

  /** Reads both until they end. */
  read(stdout: Readable, stderr: Readable): void {
    stdout.setEncoding('utf8').on('data', (text: string) => this.#pass(process.stdout, text));
    stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#keep(text);
      this.#pass(process.stderr, text);
    });
    stdout.on('error', () => {});
    stderr.on('error', () => {});
  }

  /** The last lines of its standard error, oldest first, without empty ones. */
  lastLines(): string[] {
    return this.#lines.filter((line) => line.trim() !== '').map(safeText);
  }

  #keep(text: string): void {
    // Of a long text the end is kept.
    const [first = '', ...more] = text.slice(-KEPT_LINES * LINE_CHARS).split('\n');
    this.#lines.push((this.#lines.pop() ?? '') + first, ...more);
    this.#lines = this.#lines.slice(-KEPT_LINES).map((line) => line.slice(0, LINE_CHARS));
  }

  #pass(stream: NodeJS.WriteStream, text: string): void {
    const now = performance.now();
    if (now - this.#since >= PERIOD_MS) {
      this.#since = now;
      this.#passed = 0;
      this.#isTold = false;
    }
    this.#passed += text.length;
    if (this.#passed <= PASSED_CHARS) write(stream, text);
    else if (!this.#isTold) {
      this.#isTold = true;
      write(
        process.stderr,
        `drover: ${this.#name} prints too much: the rest of this second is skipped\n`,
      );
    }
  }
}
