// Runs in main. Owns the lines on standard output and standard error that clients cause: the access log and security events.

import { write } from '../../shared/terminal.js';

/** Bytes that wait for a slow reader. Lines above it are dropped and counted. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;

class Output {
  readonly #stream: () => NodeJS.WriteStream;
  #isWatched = false;
  #dropped = 0;

  constructor(stream: () => NodeJS.WriteStream) {
    this.#stream = stream;
  }

  /** Writes whole lines. A reader that is gone or does not read has no effect on the service. */
  write(text: string): void {
    const stream = this.#stream();
    if (!this.#isWatched) stream.on('drain', () => this.#reportDropped());
    this.#isWatched = true;
    if (stream.writableLength + text.length > MAX_WAITING_BYTES) {
      this.#dropped += text.split('\n').length - 1;
      return;
    }
    write(stream, text);
  }

  #reportDropped(): void {
    if (this.#dropped === 0) return;
    const lines = this.#dropped;
    this.#dropped = 0;
    write(this.#stream(), `${new Date().toISOString()} ${lines} lines dropped: nobody read them\n`);
  }
}

const standardOutput = new Output(() => process.stdout);
const standardError = new Output(() => process.stderr);

/** @param text whole lines. */
export function writeAccessLog(text: string): void {
  standardOutput.write(text);
}

/** What the operator has asked to be told. @param message one line. */
export function tellOperator(message: string): void {
  standardOutput.write(`${message}\n`);
}

/** A warning for the operator. @param message one line. */
export function warnOperator(message: string): void {
  standardError.write(`drover: warning: ${message}\n`);
}
