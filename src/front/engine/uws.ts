// Runs in a front thread. Owns everything that is particular to uWebSockets.js; its facts are in docs/ENGINES.md.

import uws, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
} from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { DroverError } from '../../errors.js';
import type {
  Answer,
  Engine,
  EngineKind,
  Exchange,
  FixedAnswers,
  Handler,
  StreamSink,
} from './engine.js';

/** uWebSockets' LIBUS_LISTEN_EXCLUSIVE_PORT; its enum is not exported at run time by all versions. */
const EXCLUSIVE_PORT = 1;
const SHARED_PORT = 0;

class UwsEngine implements Engine {
  readonly #app: TemplatedApp;
  #socket: us_listen_socket | undefined;

  constructor(handler: Handler, fixed: FixedAnswers) {
    const handle = (res: HttpResponse, req: HttpRequest): void => {
      const exchange = new UwsExchange(res, req);
      try {
        const pending = handler(exchange);
        if (pending) exchange.answerLater(pending);
      } catch {
        exchange.answer(BROKEN);
      }
    };
    this.#app = uws.App();
    for (const [path, { headers, body }] of fixed) {
      const [name, value] = inOneHeader(headers);
      this.#app.get(path, (res, req) => {
        if (req.getHeader('transfer-encoding') !== '') return handle(res, req);
        res.writeHeader(name, value);
        res.end(body);
      });
    }
    // One catch-all route: the front's own router decides, so that every engine answers alike.
    this.#app.any('/*', handle);
  }

  listen(host: string, port: number, shared: boolean): number {
    const options = shared ? SHARED_PORT : EXCLUSIVE_PORT;
    const app = this.#app as unknown as {
      listen(
        host: string,
        port: number,
        options: number,
        bound: (socket: us_listen_socket | false) => void,
      ): void;
    };
    app.listen(host, port, options, (socket) => {
      this.#socket = socket || undefined;
    });
    if (!this.#socket) throw new Error('the port is taken or the address is not of this machine');
    return uws.us_socket_local_port(this.#socket);
  }

  stopListening(): void {
    if (this.#socket) uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  close(): void {
    this.stopListening();
    this.#app.close();
  }
}

const BROKEN: Answer = {
  status: 500,
  headers: ['Content-Type', 'application/json'],
  body: '{"error":"internal error"}',
};

/** A body of at most this many characters fits the cork buffer with its headers, whatever its UTF-8 length. */
const MAX_CORKED_CHARACTERS = 5_000;

class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly #res: HttpResponse;
  readonly #req: HttpRequest;
  #address: string | undefined;
  /** The response is over: answered, streaming or aborted. uWebSockets throws when it is touched after that. */
  #done = false;
  #watched = false;
  #inHandler = true;
  #noBody: (() => void) | undefined;
  #goes: AbortController | undefined;
  aborted = false;

  constructor(res: HttpResponse, req: HttpRequest) {
    this.#res = res;
    this.#req = req;
    this.method = req.getCaseSensitiveMethod();
    this.path = req.getUrl();
  }

  get query(): string {
    return this.#req.getQuery() ?? '';
  }

  get address(): string {
    this.#address ??= Buffer.from(this.#res.getRemoteAddressAsText()).toString();
    return this.#address;
  }

  header(name: string): string {
    return this.#req.getHeader(name);
  }

  body(maxBytes: number, timeoutMs: number): Promise<Uint8Array> {
    this.#watch();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new DroverError('timeout')), timeoutMs);
      this.#noBody = () => {
        clearTimeout(timer);
        reject(new DroverError('timeout'));
      };
      const parts: Buffer[] = [];
      let size = 0;
      this.#res.onData((part, isLast) => {
        size += part.byteLength;
        if (size > maxBytes) {
          clearTimeout(timer);
          parts.length = 0;
          reject(new DroverError('too_large'));
          return;
        }
        // A copy: uWebSockets takes the memory back when this returns.
        parts.push(Buffer.from(part.slice(0)));
        if (!isLast) return;
        clearTimeout(timer);
        resolve(Buffer.concat(parts, size));
      });
    });
  }

  gone(): AbortSignal {
    this.#goes ??= new AbortController();
    if (this.aborted) this.#goes.abort();
    else if (!this.#done) this.#watch();
    return this.#goes.signal;
  }

  answer(answer: Answer): void {
    if (this.#done) return;
    this.#done = true;
    // In the handler uWebSockets has corked already; later it is for us to do.
    if (this.#inHandler) this.#write(answer);
    else this.#res.cork(() => this.#write(answer));
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#done = true;
    return new UwsStream(this.#res, headers, closed, writable);
  }

  /** The handler goes on after its synchronous part. */
  answerLater(pending: Promise<void>): void {
    this.#inHandler = false;
    if (!this.#done) this.#watch();
    pending.catch(() => this.answer(BROKEN));
  }

  #watch(): void {
    if (this.#watched) return;
    this.#watched = true;
    this.#res.onAborted(() => {
      this.aborted = true;
      this.#done = true;
      this.#noBody?.();
      this.#goes?.abort();
    });
  }

  /**
   * endWithoutBody() is called without arguments: with a length the old binary does not notice that the response is over
   * (and aborts the process), and without one but with a second argument it writes 2^63. end() with its second argument
   * writes `Connection: close` itself.
   */
  #write({ status, headers, body, close = false }: Answer): void {
    const res = this.#res;
    if (status !== 200) res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
    writeHeaders(res, headers);
    if (this.method === 'HEAD' && !close) {
      if (body.length > 0) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      res.endWithoutBody();
    } else if (status === 204) {
      res.endWithoutBody();
    } else if (this.method !== 'HEAD' && body.length > MAX_CORKED_CHARACTERS) {
      this.#writeLarge(typeof body === 'string' ? Buffer.from(body) : body, close);
    } else {
      res.end(this.method === 'HEAD' ? '' : body, close);
    }
  }

  /** A body that may not fit the cork buffer: sent as far as the client takes it, and then as it goes on. */
  #writeLarge(body: Uint8Array, close: boolean): void {
    this.#watch();
    const res = this.#res;
    const send = (from: number): boolean => {
      const rest = body.subarray(from) as Uint8Array<ArrayBuffer>;
      const [ok] = res.tryEnd(rest, body.length);
      return ok;
    };
    res.onWritable((offset) => send(offset));
    if (close) res.writeHeader('Connection', 'close');
    send(0);
  }
}

/**
 * A header whose value brings the other headers' lines with it: uWebSockets.js writes it as it stands, and each call of it
 * costs more than all of these bytes.
 */
function inOneHeader([name = '', value = '', ...others]: readonly string[]): [string, string] {
  const lines = [value];
  for (let at = 0; at < others.length; at += 2) lines.push(`${others[at]}: ${others[at + 1]}`);
  return [name, lines.join('\r\n')];
}

function writeHeaders(res: HttpResponse, headers: readonly string[]): void {
  for (let at = 0; at < headers.length; at += 2) {
    res.writeHeader(headers[at] as string, headers[at + 1] as string);
  }
}

/**
 * Largest write in one cork. The cork buffer holds 16 KiB; what does not fit is lost when the chunk's header before it
 * cannot be sent at once (the socket is just full): measured, docs/ENGINES.md.
 */
const MAX_CORKED_BYTES = 16_300;

// What corked writes work on. One function for all streams instead of a closure for each write or each stream.
let corkedResponse: HttpResponse | undefined;
let corkedBytes: Uint8Array = new Uint8Array();
let corkedOk = false;
const writeCorked = (): void => {
  corkedOk = (corkedResponse as HttpResponse).write(corkedBytes as Uint8Array<ArrayBuffer>);
};

class UwsStream implements StreamSink {
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
    // Without this handler a client that was slow for 12 s is closed, even if it has recovered.
    res.onWritable(() => {
      if (this.#open) writable();
      return true;
    });
    res.cork(() => writeHeaders(res, headers));
  }

  write(bytes: Uint8Array): boolean {
    corkedResponse = this.#res;
    // Only a single frame can be larger than a cork; its pieces belong together, and what the client does not take is
    // buffered whole.
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

export const uwsEngine: EngineKind = {
  maxWriteBytes: MAX_CORKED_BYTES,
  create: (handler, fixed) => new UwsEngine(handler, fixed),
};
