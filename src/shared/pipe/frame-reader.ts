// Owns the frame that is arriving on one pipe.

import { HEADER_BYTES } from './frames.js';

/** A frame longer than this is no frame: the other end writes something else. */
export const MAX_FRAME_BYTES = 64 * 2 ** 20;

export class FrameReader {
  readonly #take: (channel: number, bytes: Uint8Array<ArrayBuffer>) => void;
  readonly #maxBytes: (channel: number) => number;
  readonly #head = Buffer.alloc(HEADER_BYTES);
  #headBytes = 0;
  /** The bytes of the frame that is arriving. Bounded for each channel. */
  #body: Uint8Array<ArrayBuffer> | undefined;
  #bodyBytes = 0;

  /**
   * @param take gets each whole frame. The bytes are all of their buffer, which can be transferred. @param maxBytes how long a
   * frame on this channel may be; it may throw for a channel that there is not.
   */
  constructor(
    take: (channel: number, bytes: Uint8Array<ArrayBuffer>) => void,
    maxBytes: (channel: number) => number = () => MAX_FRAME_BYTES,
  ) {
    this.#take = take;
    this.#maxBytes = maxBytes;
  }

  /** @throws Error when a frame is too long, and what `take` throws; the pipe is of no use after that. */
  push(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length) {
      if (!this.#body) {
        const taken = Math.min(HEADER_BYTES - this.#headBytes, chunk.length - at);
        this.#head.set(chunk.subarray(at, at + taken), this.#headBytes);
        this.#headBytes += taken;
        at += taken;
        if (this.#headBytes < HEADER_BYTES) return;
        const length = this.#head.readUInt32LE(0);
        const most = this.#maxBytes(this.#head.readUInt32LE(4));
        if (length > most) {
          throw new Error(`a frame of ${length} bytes, and ${most} are allowed`);
        }
        this.#body = new Uint8Array(length);
        this.#bodyBytes = 0;
      }
      const taken = Math.min(this.#body.length - this.#bodyBytes, chunk.length - at);
      this.#body.set(chunk.subarray(at, at + taken), this.#bodyBytes);
      this.#bodyBytes += taken;
      at += taken;
      if (this.#bodyBytes < this.#body.length) return;
      const body = this.#body;
      this.#body = undefined;
      this.#headBytes = 0;
      this.#take(this.#head.readUInt32LE(4), body);
    }
  }
}
