/** An event: a block with data. */
export interface SseFrame {
  /** Value of `event:`, '' if there was none. */
  event: string;
  data: string;
  /** Value of `id:` in this block, null if there was none. */
  id: string | null;
  /** {@link SseParser.lastId} before this block. */
  idBefore: string | null;
}

/** A comment with the position of the stream (docs/API.md). */
const POSITION = ': position ';

const LINE_END = /\r\n?|\n/g;

/**
 * An incremental parser of event streams (HTML Standard, 9.2.6). It also reads the comment with which the service tells the
 * position of a stream without events (docs/decisions/0020).
 */
export class SseParser {
  readonly #maxChars: number;
  /** Chunks of the unfinished line. */
  readonly #pieces: string[] = [];
  /** Buffered characters of the unfinished line and of the unfinished block's data; at most #maxChars. */
  #buffered = 0;
  /** The last chunk ended with CR, so an LF at the start of the next belongs to it. */
  #afterCr = false;
  #event = '';
  #id: string | null = null;
  #data: string[] = [];
  #lastId: string | null = null;
  #retryMs: number | undefined;

  /** @param maxChars bound of one block in characters; {@link feed} throws beyond it. */
  constructor(maxChars: number) {
    this.#maxChars = maxChars;
  }

  /** The last position: the id of a block, with or without data, or that of a comment; null before the first. */
  get lastId(): string | null {
    return this.#lastId;
  }

  /** The last `retry:`, in ms. */
  get retryMs(): number | undefined {
    return this.#retryMs;
  }

  /** @returns the events that end in this chunk. @throws RangeError if one is too long; the parser cannot be used after that. */
  feed(text: string): SseFrame[] {
    const frames: SseFrame[] = [];
    let start = 0;
    if (this.#afterCr && text !== '') {
      this.#afterCr = false;
      if (text.startsWith('\n')) start = 1;
    }
    LINE_END.lastIndex = start;
    for (let end = LINE_END.exec(text); end; end = LINE_END.exec(text)) {
      this.#line(this.#completeLine(text.slice(start, end.index)), frames);
      start = LINE_END.lastIndex;
      this.#afterCr = end[0] === '\r' && start === text.length;
    }
    if (start < text.length) this.#buffer(text.slice(start));
    return frames;
  }

  #buffer(piece: string): void {
    this.#pieces.push(piece);
    this.#count(piece.length);
  }

  #count(chars: number): void {
    this.#buffered += chars;
    if (this.#buffered <= this.#maxChars) return;
    throw new RangeError(`an event of the stream is longer than ${this.#maxChars} characters`);
  }

  #completeLine(piece: string): string {
    if (this.#pieces.length === 0) return piece;
    const line = this.#pieces.join('') + piece;
    for (const { length } of this.#pieces) this.#buffered -= length;
    this.#pieces.length = 0;
    return line;
  }

  #line(line: string, frames: SseFrame[]): void {
    if (line === '') {
      this.#endBlock(frames);
      return;
    }
    const colon = line.indexOf(':');
    const isComment = colon === 0;
    if (isComment) {
      if (line.startsWith(POSITION)) this.#lastId = line.slice(POSITION.length);
      return;
    }
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
    const idBefore = this.#lastId;
    if (this.#id !== null) this.#lastId = this.#id;
    if (this.#data.length > 0) {
      const data = this.#data.join('\n');
      frames.push({ event: this.#event, data, id: this.#id, idBefore });
      this.#data = [];
      this.#buffered = 0;
    }
    this.#event = '';
    this.#id = null;
  }
}
