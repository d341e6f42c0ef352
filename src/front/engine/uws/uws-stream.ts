import type { HttpResponse } from 'uWebSockets.js';
import type { StreamSink } from '../engine.js';
import { UsualHeaders } from './uws-headers.js';

/**
 * Largest write in one cork. The cork buffer holds 16 KiB; what does not fit is lost when the bytes before it cannot be sent at
 * once (the socket is just full): measured, docs/ENGINES.md. These are the chunk's size and, in the first write of a stream,
 * the end of the head: 90 bytes.
 */
const MAX_CORKED_BYTES = 16_000;
/**
 * Up to this size a write is several corked ones, of one system call each. A larger one is not corked: that costs four
 * system calls, three of them for a few bytes, and loses nothing at any size.
 */
const MAX_IN_CORKS = 3 * MAX_CORKED_BYTES;
/** Sizes of writes, in bytes. */
export const WRITE_SIZES = [MAX_CORKED_BYTES, 65_536, 131_072, 262_144];

// The state of the current write, so that one function serves all streams instead of a closure for each write.
let response: HttpResponse | undefined;
let piece: Uint8Array = new Uint8Array();
let isTaken = false;
const writePiece = (): void => {
  isTaken = (response as HttpResponse).write(piece as Uint8Array<ArrayBuffer>);
};

const openStreams = new Set<UwsStream>();
/** All streams without CORS share one array of headers. */
const usualHeaders = new UsualHeaders();

/** Runs in a front thread. Owns the sending end of a stream on uWebSockets.js. */
export class UwsStream implements StreamSink {
  readonly #res: HttpResponse;
  #open = true;

  constructor(
    res: HttpResponse,
    headers: readonly string[],
    closed: () => void,
    writable: () => void,
  ) {
    this.#res = res;
    res.onAborted(() => {
      if (!this.#open) return;
      this.#leave();
      closed();
    });
    // Without this handler, a client that was slow for 12 s is disconnected even if it has recovered.
    res.onWritable(() => {
      if (this.#open) writable();
      return true;
    });
    res.cork(() => usualHeaders.write(res, headers));
    openStreams.add(this);
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#open) return true;
    response = this.#res;
    const other = bytes.length > MAX_IN_CORKS ? this.#other() : undefined;
    if (other) {
      // In the cork of another response this one is not corked, and the engine does not warn of a write outside of corks.
      piece = bytes;
      other.#res.cork(writePiece);
      return isTaken;
    }
    // The pieces belong together; uWebSockets buffers what the socket does not take.
    for (let at = 0; at < bytes.length && this.#open; at += MAX_CORKED_BYTES) {
      piece = bytes.length <= MAX_CORKED_BYTES ? bytes : bytes.subarray(at, at + MAX_CORKED_BYTES);
      this.#res.cork(writePiece);
    }
    return isTaken;
  }

  /** Any other open stream. */
  #other(): UwsStream | undefined {
    for (const stream of openStreams) if (stream !== this) return stream;
    return undefined;
  }

  #leave(): void {
    this.#open = false;
    openStreams.delete(this);
  }

  end(): void {
    if (!this.#open) return;
    this.#leave();
    // Without its closeConnection flag: that writes a header into the middle of a chunked body. The engine's close()
    // ends the connection.
    this.#res.cork(() => this.#res.end());
  }

  close(): void {
    // uWebSockets then calls onAborted, and that calls `closed`.
    if (this.#open) this.#res.close();
  }
}
