const LF = 0x0a;
const CR = 0x0d;

/**
 * Splits a byte stream into lines at LF, without a CR before it. Bounded: a line of more than `maxBytes` is an error, and
 * the rest of the stream is then invalid.
 */
export class LineSplitter {
  readonly #maxBytes: number;
  /** The line that has not ended yet: at most `maxBytes` and a CR. */
  #rest: Buffer = Buffer.alloc(0);

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes a chunk and returns the lines that it completes, without their endings, as UTF-8 text. Does not keep the chunk.
   * @throws RangeError when a line, ended or not, is too long.
   */
  push(chunk: Uint8Array): string[] {
    const bytes = Buffer.concat([this.#rest, chunk]);
    const lines: string[] = [];
    let start = 0;
    // The bytes in `rest` were searched before.
    let end = bytes.indexOf(LF, this.#rest.length);
    while (end !== -1) {
      lines.push(bytes.toString('utf8', start, this.#contentEnd(bytes, start, end)));
      start = end + 1;
      end = bytes.indexOf(LF, start);
    }
    this.#contentEnd(bytes, start, bytes.length);
    // A copy, so that a few bytes do not hold a whole chunk in memory.
    this.#rest = Buffer.from(bytes.subarray(start));
    return lines;
  }

  /** The line that had no ending when the stream ended; undefined when there is none. */
  end(): string | undefined {
    const { length } = this.#rest;
    return length === 0
      ? undefined
      : this.#rest.toString('utf8', 0, this.#contentEnd(this.#rest, 0, length));
  }

  /** Where the content of a line ends, before a CR. */
  #contentEnd(bytes: Buffer, start: number, end: number): number {
    const content = end > start && bytes[end - 1] === CR ? end - 1 : end;
    if (content - start > this.#maxBytes) {
      throw new RangeError(`a line is longer than ${this.#maxBytes} bytes`);
    }
    return content;
  }
}
