import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { StreamSink } from '../engine.js';

const SMALLEST_WRITE_BYTES = 65_536;
/** Sizes of writes, in bytes. With TLS, Node encrypts the whole write for each socket, and nothing is shared. */
export const WRITE_SIZES = {
  plain: [SMALLEST_WRITE_BYTES, 131_072, 262_144],
  tls: [SMALLEST_WRITE_BYTES],
};
/**
 * Bytes that may be buffered before a stream counts as blocked. A plain socket takes a write at once or is full. A TLS
 * socket always buffers the last write.
 */
const MOST_WAITING = { plain: 0, tls: SMALLEST_WRITE_BYTES - 1 };

// Chunks by their source. Subscribers move in step, so the same bytes go to many sockets, and those that buffer them share
// one copy.
const chunks = new WeakMap<Uint8Array, Buffer>();

/** A chunk of the chunked coding. */
function chunkOf(bytes: Uint8Array): Buffer {
  const known = chunks.get(bytes);
  if (known) return known;
  const size = `${bytes.length.toString(16)}\r\n`;
  const chunk = Buffer.allocUnsafe(size.length + bytes.length + 2);
  chunk.write(size, 0, 'latin1');
  chunk.set(bytes, size.length);
  chunk.write('\r\n', size.length + bytes.length, 'latin1');
  chunks.set(bytes, chunk);
  return chunk;
}

/**
 * Runs in a front thread. Owns the sending end of a stream on node:http.
 *
 * Chunks are written to the socket itself: ServerResponse.write() sends each in four pieces, on a later tick, and does not
 * tell whether the socket took them. What is buffered is at most one write on a plain socket and two on a TLS socket, and
 * three bytes for each heartbeat that a blocked stream gets until it is closed.
 */
export class NodeStream implements StreamSink {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  readonly #mostWaiting: number;
  /** HTTP/1.0 has no chunks: the end of the connection is that of the stream. */
  readonly #isPlain: boolean;
  readonly #closed: () => void;
  readonly #writable: () => void;
  /** Chunks that were written before this response owned the socket: earlier responses on the connection come first. */
  #early: Buffer[] | undefined;
  #open = true;
  #blocked = false;

  constructor(
    response: ServerResponse,
    headers: readonly string[],
    closed: () => void,
    writable: () => void,
  ) {
    this.#response = response;
    this.#socket = response.req.socket;
    this.#isPlain = response.req.httpVersion === '1.0';
    this.#mostWaiting = 'encrypted' in this.#socket ? MOST_WAITING.tls : MOST_WAITING.plain;
    this.#closed = closed;
    this.#writable = writable;
    if (this.#socket.destroyed) process.nextTick(this.#gone);
    else this.#socket.once('close', this.#gone);
    response.writeHead(200, headers as string[]);
    response.flushHeaders();
    if (response.socket) return;
    this.#early = [];
    // Waits for the next tick, because the head is sent after this event.
    response.once('socket', () => process.nextTick(() => this.#begin()));
  }

  write(bytes: Uint8Array): boolean {
    if (!this.#open || bytes.length === 0) return true;
    // A copy: a socket may buffer it for long, and the ring is overwritten.
    const chunk = this.#isPlain ? Buffer.from(bytes) : chunkOf(bytes);
    if (this.#early) {
      this.#early.push(chunk);
      return false;
    }
    // The socket has failed or ended, and 'close' will follow: writes would only be buffered.
    if (!this.#socket.writable) return false;
    this.#socket.write(chunk, this.#written);
    this.#blocked = this.#socket.writableLength > this.#mostWaiting;
    return !this.#blocked;
  }

  end(): void {
    if (!this.#leave()) return;
    this.#response.end();
  }

  close(): void {
    if (!this.#leave()) return;
    this.#socket.destroy();
    this.#closed();
  }

  #begin(): void {
    const early = this.#early ?? [];
    this.#early = undefined;
    if (!this.#open) return;
    this.#blocked = true;
    for (const chunk of early) this.#socket.write(chunk, this.#written);
    if (early.length === 0) this.#written(null);
  }

  readonly #written = (error?: Error | null): void => {
    // Node calls this for each chunk of a socket that fails while it empties its buffer: more would go into it.
    if (error || !this.#blocked || !this.#open) return;
    if (this.#socket.writableLength > this.#mostWaiting) return;
    this.#blocked = false;
    this.#writable();
  };

  readonly #gone = (): void => {
    if (this.#leave()) this.#closed();
  };

  /** @returns false when the stream was already over. */
  #leave(): boolean {
    const wasOpen = this.#open;
    this.#open = false;
    this.#socket.off('close', this.#gone);
    return wasOpen;
  }
}
