import type { HttpResponse } from 'uWebSockets.js';
import type { StreamSink } from '../engine.js';

/**
 * Largest write in one cork. The cork buffer holds 16 KiB; what does not fit is lost when the chunk's header before it
 * cannot be sent at once (the socket is just full): measured, docs/ENGINES.md.
 */
export const MAX_CORKED_BYTES = 16_300;

// State of the current corked write. One function for all streams, instead of a closure for each write.
let corkedResponse: HttpResponse | undefined;
let corkedBytes: Uint8Array = new Uint8Array();
let corkedOk = false;
const writeCorked = (): void => {
  corkedOk = (corkedResponse as HttpResponse).write(corkedBytes as Uint8Array<ArrayBuffer>);
};

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
      this.#open = false;
      closed();
    });
    // Without this handler, a client that was slow for 12 s is disconnected even if it has recovered.
    res.onWritable(() => {
      if (this.#open) writable();
      return true;
    });
    res.cork(() => writeHeaders(res, headers));
  }

  write(bytes: Uint8Array): boolean {
    corkedResponse = this.#res;
    // Only a single frame can be larger than a cork. Its pieces belong together; uWebSockets buffers what the socket does
    // not take.
    for (let at = 0; at < bytes.length; at += MAX_CORKED_BYTES) {
      if (!this.#open) return true;
      corkedBytes =
        bytes.length <= MAX_CORKED_BYTES ? bytes : bytes.subarray(at, at + MAX_CORKED_BYTES);
      this.#res.cork(writeCorked);
    }
    return corkedOk;
  }

  end(): void {
    if (!this.#open) return;
    this.#open = false;
    // Without its closeConnection flag: that writes a header into the middle of a chunked body. The engine's close()
    // ends the connection.
    this.#res.cork(() => this.#res.end());
  }

  close(): void {
    // uWebSockets then calls onAborted, and that calls `closed`.
    if (this.#open) this.#res.close();
  }
}

export function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) {
    res.writeHeader(headers[at] as string, headers[at + 1] as string);
  }
}
