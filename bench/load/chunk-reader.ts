// Runs in swarm processes. Parses the chunked body of one stream, cheaply enough for every byte of every stream. It counts, and
// checks the edges of each chunk; stream-check.ts checks the contents.

const CR = 13;
const LF = 10;
const COLON = 58;
const DASH = 45;
const ZERO = 48;
const NINE = 57;
/** A keepalive, `:\n` or `: position <id>\n`, has at most so many bytes. Drover sends it as a separate chunk between frames. */
const MAX_HEARTBEAT_BYTES = 64;
/** Bytes of a wrong chunk that are shown. */
const SHOWN_BYTES = 80;
/** In `id: …\nevent: gap` so far behind the end of the id; other kinds have another letter there. */
const GAP_LETTER_AFTER = 8;
const LETTER_G = 103;
/** An id ends within so many bytes from the beginning of its frame. */
const ID_WITHIN = 64;

/** Receives each piece of the payload in order; the buffer is valid until it returns. */
export type PayloadSink = (bytes: Buffer, from: number, to: number) => void;

/**
 * One stream's body. A chunk must begin as a frame does, with a higher id than the last one that was seen, unless the chunk
 * before it ended within a frame: a doubled chunk shows, and a missing one in the number of bytes.
 */
export class ChunkReader {
  /** Payload bytes, without heartbeats. */
  payload = 0;
  /** Bytes around the chunks: with the payload and the heartbeats, all that came on the wire behind the head. */
  framing = 0;
  chunks = 0;
  heartbeats = 0;
  /** Losses that were declared, while edges are checked: such a frame is a separate chunk. */
  gaps = 0;
  /** The last chunk (size 0) has arrived. */
  ended = false;
  /** The first fault. */
  fault: string | undefined;
  /** Whether the edges of chunks are checked; the start of a stream has other frames. */
  strict = false;
  sink: PayloadSink | undefined;
  readonly #frameStart: Buffer;
  /** Remaining bytes of the chunk. */
  #left = 0;
  /** Chunk size while its line is read; -1 before the first digit. */
  #size = -1;
  /** The next line is the empty line after a chunk. */
  #afterChunk = false;
  #fresh = false;
  /** Bytes of the keepalive that is being read; 0 for another chunk. */
  #heartbeat = 0;
  #lastByte = 0;
  /** The last chunk ended with a frame. */
  #whole = true;
  #lastId = -1;

  /** @param frameStart the first bytes of each frame. */
  constructor(frameStart: string) {
    this.#frameStart = Buffer.from(frameStart);
  }

  read(bytes: Buffer, from: number, to: number): void {
    let at = from;
    while (at < to) {
      if (this.#left === 0) {
        this.#sizeLine(bytes[at++] as number);
        this.framing += 1;
        continue;
      }
      const take = Math.min(this.#left, to - at);
      if (this.#fresh) this.#begin(bytes, at, at + take);
      this.sink?.(bytes, at, at + take);
      at += take;
      this.payload += take;
      this.#left -= take;
      if (this.#left === 0) this.#finish(bytes, at, take);
      this.#lastByte = bytes[at - 1] as number;
    }
  }

  #sizeLine(byte: number): void {
    if (byte === CR) return;
    if (byte !== LF) {
      const digit = hexDigit(byte);
      if (digit === -1 || this.#afterChunk || this.ended)
        this.#fail(`byte ${byte} in a chunk size`);
      this.#size = Math.max(0, this.#size) * 16 + digit;
      return;
    }
    if (this.#size === -1) {
      if (!this.#afterChunk && !this.ended) this.#fail('a chunk without a size');
      this.#afterChunk = false;
      return;
    }
    this.#left = this.#size;
    this.#size = -1;
    this.#fresh = this.#left > 0;
    this.ended = this.#left === 0;
  }

  #begin(bytes: Buffer, at: number, to: number): void {
    this.#fresh = false;
    this.chunks += 1;
    const isHeartbeat = this.#whole && this.#left <= MAX_HEARTBEAT_BYTES && bytes[at] === COLON;
    this.#heartbeat = isHeartbeat ? this.#left : 0;
    if (!this.strict || !this.#whole || isHeartbeat) return;
    const start = this.#frameStart;
    const length = Math.min(start.length, to - at);
    for (let n = 0; n < length; n++) {
      if (bytes[at + n] === start[n]) continue;
      const text = JSON.stringify(bytes.toString('latin1', at, Math.min(to, at + SHOWN_BYTES)));
      this.#fail(`a chunk of ${this.#left} bytes that does not begin with a frame: ${text}`);
      return;
    }
    const id = idAt(bytes, at, Math.min(to, at + ID_WITHIN));
    if (id === -1) return;
    if (id <= this.#lastId) this.#fail(`a chunk that begins with ${id} after ${this.#lastId}`);
    this.#lastId = id;
    const idEnd = bytes.indexOf(LF, at);
    if (bytes[idEnd + GAP_LETTER_AFTER] === LETTER_G) this.#onGap();
  }

  /** After a gap come snapshots, with other frames, so the bytes differ from other streams. */
  #onGap(): void {
    this.gaps += 1;
    this.strict = false;
  }

  #finish(bytes: Buffer, end: number, took: number): void {
    this.#afterChunk = true;
    if (this.#heartbeat > 0) {
      this.heartbeats += 1;
      this.payload -= this.#heartbeat;
      return;
    }
    const before = took > 1 ? bytes[end - 2] : this.#lastByte;
    this.#whole = bytes[end - 1] === LF && before === LF;
  }

  #fail(what: string): void {
    this.fault ??= what;
  }
}

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO;
  const letter = byte | 32;
  return letter >= 97 && letter <= 102 ? letter - 87 : -1;
}

/** The sequence number of the id `<epoch>-<number>` that the frame has, -1 if its end has not arrived yet. */
function idAt(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== DASH) at++;
  let id = 0;
  for (at++; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte < ZERO || byte > NINE) return id;
    id = id * 10 + byte - ZERO;
  }
  return -1;
}
