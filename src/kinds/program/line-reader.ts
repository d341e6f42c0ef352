const LF = 0x0a;
const CR = '\r';

/** Longest line of a program, in bytes. */
export const MAX_LINE_BYTES = 1_048_576;

/** A line, and how many of its bytes are missing at its end because it was too long. */
export type TakeLine = (line: string, cutBytes: number) => void;

/**
 * Cuts the output of a program into lines, without their ends. Holds at most MAX_LINE_BYTES of an unfinished line: what comes
 * after that is dropped and counted.
 */
export class LineReader {
  readonly #take: TakeLine;
  readonly #max: number;
  #parts: Buffer[] = [];
  #held = 0;
  #cut = 0;

  constructor(take: TakeLine, maxBytes = MAX_LINE_BYTES) {
    this.#take = take;
    this.#max = maxBytes;
  }

  /** Bytes of a line that has no end yet. */
  get unfinished(): number {
    return this.#held + this.#cut;
  }

  /** The beginning of it. */
  beginning(bytes: number): string {
    return Buffer.concat(this.#parts).subarray(0, bytes).toString();
  }

  push(chunk: Buffer): void {
    const first = chunk.indexOf(LF);
    if (first === -1) {
      this.#hold(chunk);
      return;
    }
    this.#hold(chunk.subarray(0, first));
    this.#takeHeld();
    const last = chunk.lastIndexOf(LF);
    // The lines between are decoded together, which is faster. A line feed is no part of another character in UTF-8.
    if (last > first) {
      for (const line of chunk.toString('utf8', first + 1, last).split('\n')) {
        this.#take(withoutReturn(line), 0);
      }
    }
    if (last + 1 < chunk.length) this.#hold(chunk.subarray(last + 1));
  }

  /** The output has ended: what is left is a line. */
  finish(): void {
    if (this.unfinished > 0) this.#takeHeld();
  }

  #hold(bytes: Buffer): void {
    const room = this.#max - this.#held;
    const kept = bytes.length > room ? bytes.subarray(0, room) : bytes;
    this.#cut += bytes.length - kept.length;
    this.#held += kept.length;
    if (kept.length > 0) this.#parts.push(kept);
  }

  #takeHeld(): void {
    const [only] = this.#parts;
    const bytes = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts);
    const cut = this.#cut;
    this.#parts = [];
    this.#held = 0;
    this.#cut = 0;
    this.#take(withoutReturn(bytes.toString()), cut);
  }
}

function withoutReturn(line: string): string {
  return line.endsWith(CR) ? line.slice(0, -1) : line;
}
