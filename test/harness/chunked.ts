// A strict reader of chunked bodies: it rejects even the optional syntax that RFC 9112 §7.1 permits.

const CR = 0x0d;
const LF = 0x0a;
/** Longest chunk size, in digits: the service sends no chunk above 4 GiB. */
const MAX_SIZE_DIGITS = 8;

/** Reads a body in pieces of any size, passes on the data of its chunks, and throws at the first invalid byte. */
export class ChunkedDecoder {
  /** The last chunk, which has size 0, has arrived. */
  done = false;
  /** Number of chunks so far. */
  chunks = 0;
  readonly #give: (bytes: Buffer) => void;
  #state: 'size' | 'size-lf' | 'data' | 'data-cr' | 'data-lf' = 'size';
  #digits = '';
  #left = 0;

  constructor(give: (bytes: Buffer) => void) {
    this.#give = give;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length) {
      if (this.done) throw new Error(`${bytes.length - at} bytes after the last chunk`);
      if (this.#state === 'data') {
        const end = Math.min(bytes.length, at + this.#left);
        this.#left -= end - at;
        this.#give(bytes.subarray(at, end));
        at = end;
        if (this.#left === 0) this.#state = 'data-cr';
      } else {
        this.#control(bytes[at++] as number);
      }
    }
  }

  #control(byte: number): void {
    switch (this.#state) {
      case 'size':
        if (byte === CR) this.#state = 'size-lf';
        else this.#digits += digit(byte);
        if (this.#digits.length > MAX_SIZE_DIGITS) throw new Error(`a size of ${this.#digits}`);
        return;
      case 'size-lf':
        expectByte(byte, LF, 'after a chunk size');
        if (!/^(0|[1-9a-f][0-9a-f]*)$/i.test(this.#digits)) {
          throw new Error(`not a chunk size: ${JSON.stringify(this.#digits)}`);
        }
        this.#left = Number.parseInt(this.#digits, 16);
        this.#digits = '';
        this.chunks += 1;
        this.#state = this.#left > 0 ? 'data' : 'data-cr';
        this.#ending = this.#left === 0;
        return;
      case 'data-cr':
        expectByte(byte, CR, 'after a chunk');
        this.#state = 'data-lf';
        return;
      default:
        expectByte(byte, LF, 'after a chunk');
        this.#state = 'size';
        this.done = this.#ending;
    }
  }

  #ending = false;
}

function digit(byte: number): string {
  const text = String.fromCharCode(byte);
  if (!/^[0-9a-f]$/i.test(text)) {
    throw new Error(`${JSON.stringify(text)} in the size of a chunk`);
  }
  return text;
}

function expectByte(byte: number, wanted: number, where: string): void {
  if (byte !== wanted) {
    throw new Error(`${JSON.stringify(String.fromCharCode(byte))} ${where}`);
  }
}
