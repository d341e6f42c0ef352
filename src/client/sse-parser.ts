// Pure; runs in clients. Owns the event-stream grammar (HTML Standard, 9.2.6), for text that comes in any pieces.

/** A block that has data. */
export interface SseFrame {
  /** Value of `event:`, '' when there was none. */
  event: string;
  data: string;
  /** Value of `id:` in this block, null when it had none. */
  id: string | null;
}

const LINE_END = /\r\n?|\n/g;

/**
 * Takes a stream apart. Of its own, and not eventsource-parser, because that does not tell of a block with `id:` alone, which
 * is how the service says where a stream stands before its first event (docs/API.md).
 */
export class SseParser {
  readonly #maxChars: number;
  /** Pieces of the line that has not ended yet. */
  readonly #pieces: string[] = [];
  /** Characters that are held: of the pieces, and of the data of the block that has not ended yet. */
  #held = 0;
  /** The last piece ended in a CR: an LF that begins the next one belongs to it. */
  #afterCr = false;
  #event = '';
  #id: string | null = null;
  #data: string[] = [];
  #lastId: string | null = null;
  #retryMs: number | undefined;

  /** @param maxChars longest block, in characters; there is no room for more, see {@link feed}. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The last id that a block has set, also one without data; null before the first. */
  get lastId(): string | null {
    return this.#lastId;
  }

  /** What `retry:` has said last, in ms. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** @returns the blocks that end in this text. @throws RangeError when one is longer than allowed; it is of no use then. */
  feed(text: string): SseFrame[] {
    const frames: SseFrame[] = [];
    let start = 0;
    if (this.#afterCr && text !== '') {
      this.#afterCr = false;
      if (text.startsWith('\n')) start = 1;
    }
    LINE_END.lastIndex = start;
    for (let end = LINE_END.exec(text); end; end = LINE_END.exec(text)) {
      this.#line(this.#whole(text.slice(start, end.index)), frames);
      start = LINE_END.lastIndex;
      this.#afterCr = end[0] === '\r' && start === text.length;
    }
    if (start < text.length) this.#hold(text.slice(start));
    return frames;
  }

  #hold(piece: string): void {
    this.#pieces.push(piece);
    this.#count(piece.length);
  }

  #count(chars: number): void {
    this.#held += chars;
    if (this.#held <= this.#maxChars) return;
    throw new RangeError(`an event of the stream is longer than ${this.#maxChars} characters`);
  }

  #whole(piece: string): string {
    if (this.#pieces.length === 0) return piece;
    const line = this.#pieces.join('') + piece;
    for (const { length } of this.#pieces) this.#held -= length;
    this.#pieces.length = 0;
    return line;
  }

  #line(line: string, frames: SseFrame[]): void {
    if (line === '') {
      this.#endBlock(frames);
      return;
    }
    const colon = line.indexOf(':');
    // A comment.
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const from = line[colon + 1] === ' ' ? colon + 2 : colon + 1;
    const value = colon < 0 ? '' : line.slice(from);
    switch (name) {
      case 'data':
        this.#data.push(value);
        this.#count(value.length + 1);
        break;
      case 'event':
        this.#event = value;
        break;
      case 'id':
        if (!value.includes('\0')) this.#id = value;
        break;
      case 'retry':
        if (/^[0-9]+$/.test(value)) this.#retryMs = Number(value);
        break;
    }
  }

  #endBlock(frames: SseFrame[]): void {
    if (this.#id !== null) this.#lastId = this.#id;
    if (this.#data.length > 0) {
      const data = this.#data.join('\n');
      frames.push({ event: this.#event, data, id: this.#id });
      this.#data = [];
      this.#held = 0;
    }
    this.#event = '';
    this.#id = null;
  }
}
