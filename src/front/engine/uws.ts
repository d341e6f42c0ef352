// Runs in a front thread. Owns everything that is particular to uWebSockets.js; its facts are in docs/ENGINES.md.

import uws, {
  type HttpRequest,
  type HttpResponse,
  type TemplatedApp,
  type us_listen_socket,
} from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import { DroverError } from '../../shared/errors.js';
import type { BodyShare } from '../body-room.js';
import type { InFlightSlot } from '../in-flight-limiter.js';
import { BROKEN } from './broken.js';
import type {
  Engine,
  EngineKind,
  EngineOptions,
  Exchange,
  FixedResponses,
  Handler,
  PreparedTls,
  Response,
  StreamSink,
  TlsFiles,
} from './engine.js';

/** uWebSockets' LIBUS_LISTEN_EXCLUSIVE_PORT; its enum is not exported at run time by all versions. */
const EXCLUSIVE_PORT = 1;
const SHARED_PORT = 0;

/** An app and how many connections it has. */
interface App {
  readonly app: TemplatedApp;
  open: number;
}

class UwsEngine implements Engine {
  readonly #handler: Handler;
  readonly #fixed: FixedResponses;
  readonly #options: EngineOptions;
  /** The last is the one that listens. Those before it have connections of certificates that were in use before. */
  #apps: App[];
  #socket: us_listen_socket | undefined;
  #bound: { host: string; port: number; shared: boolean } | undefined;
  /** Connections that were refused and are not closed yet. */
  #refused = 0;

  constructor(handler: Handler, fixed: FixedResponses, options: EngineOptions) {
    this.#handler = handler;
    this.#fixed = fixed;
    this.#options = options;
    this.#apps = [this.#createApp(options.tls)];
  }

  async listen(host: string, port: number, shared: boolean): Promise<number> {
    const { app } = this.#apps.at(-1) as App;
    this.#socket = listenOn(app, host, port, shared);
    if (!this.#socket) throw new Error('the port is taken or the address is not of this machine');
    const real = uws.us_socket_local_port(this.#socket);
    this.#bound = { host, port: real, shared };
    return real;
  }

  stopListening(): void {
    if (this.#socket) uws.us_listen_socket_close(this.#socket);
    this.#socket = undefined;
  }

  /**
   * A context cannot be given another certificate; one for a server name would not be used by clients that come by
   * address. So another app takes over the port, within one turn of the loop.
   */
  prepareTls(files: TlsFiles): PreparedTls {
    const app = this.#createApp(files);
    return { commit: () => this.#takeOver(app), rollback: () => app.app.close() };
  }

  #takeOver(next: App): void {
    const before = this.#apps.at(-1) as App;
    if (!this.#socket || !this.#bound) throw new Error('the front does not listen');
    const { host, port, shared } = this.#bound;
    // A port that others may have too is never let go of.
    const old = this.#socket;
    if (!shared) this.stopListening();
    const socket = listenOn(next.app, host, port, shared);
    if (!socket) {
      next.app.close();
      if (!shared) this.#socket = listenOn(before.app, host, port, shared);
      throw new Error('the port could not be bound again');
    }
    if (shared) uws.us_listen_socket_close(old);
    this.#socket = socket;
    this.#apps.push(next);
    this.#dropIfIdle(before);
  }

  /** One that does not listen any more goes with its last connection. Not at once: that one is just being closed. */
  #dropIfIdle(entry: App): void {
    if (entry.open > 0 || entry === this.#apps.at(-1)) return;
    setImmediate(() => {
      if (!this.#apps.includes(entry)) return;
      this.#apps = this.#apps.filter((other) => other !== entry);
      entry.app.close();
    });
  }

  close(): void {
    this.stopListening();
    const apps = this.#apps;
    this.#apps = [];
    for (const { app } of apps) app.close();
  }

  #createApp(tls: TlsFiles | null): App {
    const { maxUrlBytes, responded } = this.#options;
    const app = tls ? sslApp(tls) : uws.App();
    const entry: App = { app, open: 0 };
    const handle = (res: HttpResponse, req: HttpRequest): void => {
      const exchange = new UwsExchange(res, req, this.#mustLeave(res), responded);
      try {
        const pending = this.#handler(exchange);
        if (pending) exchange.respondLater(pending);
      } catch {
        exchange.respond(BROKEN);
      }
    };
    app.filter((res, count) => this.#count(entry, res, Number(count)));
    for (const [path, { headers, body, status, route }] of this.#fixed) {
      const [name, value] = inOneHeader(headers);
      app.get(path, (res, req) => {
        // What is not to be answered so goes the way of all others.
        if (req.getHeader('transfer-encoding') !== '') return handle(res, req);
        if (path.length + (req.getQuery()?.length ?? 0) > maxUrlBytes) return handle(res, req);
        if (this.#mustLeave(res)) return handle(res, req);
        res.writeHeader(name, value);
        res.end(body);
        responded(route, status);
      });
    }
    // One catch-all route: the front's own router decides, so that every engine answers alike.
    app.any('/*', handle);
    return entry;
  }

  /** A connection has come (1) or gone (-1). Of one that has gone nothing is known any more, not even its address. */
  #count(entry: App, res: HttpResponse, change: number): void {
    entry.open += Math.sign(change);
    if (change < 0) this.#dropIfIdle(entry);
    const { connections, tls } = this.#options;
    if (change < 0) {
      if (this.#refused > 0) this.#refused -= 1;
      else connections.left(null);
      return;
    }
    const crowd = connections.hasCrowd ? connections.refusalFor(res.getRemoteAddress()) : undefined;
    const refusal = crowd ?? connections.entered(null);
    if (!refusal) return;
    this.#refused += 1;
    // Before the handshake there is no way to say anything.
    if (tls) res.close();
    else res.cork(() => writeRefusal(res, refusal));
  }

  #mustLeave(res: HttpResponse): boolean {
    const { connections } = this.#options;
    return connections.hasCrowd && connections.mustLeave(res.getRemoteAddress());
  }
}

function sslApp({ cert, key }: TlsFiles): TemplatedApp {
  try {
    return uws.SSLApp({ cert_file_name: cert, key_file_name: key });
  } catch {
    // It does not say why. Main has made sure that Node's OpenSSL can read them.
    throw new Error(`BoringSSL cannot use the certificate ${cert} with the key ${key}`);
  }
}

function listenOn(
  app: TemplatedApp,
  host: string,
  port: number,
  shared: boolean,
): us_listen_socket | undefined {
  let socket: us_listen_socket | undefined;
  // The types know no options for a listen() with a host.
  const untyped = app as unknown as {
    listen(
      host: string,
      port: number,
      options: number,
      bound: (socket: us_listen_socket | false) => void,
    ): void;
  };
  untyped.listen(host, port, shared ? SHARED_PORT : EXCLUSIVE_PORT, (bound) => {
    socket = bound || undefined;
  });
  return socket;
}

function writeRefusal(res: HttpResponse, { status, headers, body }: Response): void {
  res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
  writeHeaders(res, headers);
  res.end(body, true);
}

/** A body of at most this many characters fits the cork buffer with its headers, whatever its UTF-8 length. */
const MAX_CORKED_CHARACTERS = 5_000;

class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly #res: HttpResponse;
  readonly #req: HttpRequest;
  readonly #mustLeave: boolean;
  #address: string | undefined;
  /** The response is over: answered, streaming or aborted. uWebSockets throws when it is touched after that. */
  #done = false;
  #watched = false;
  #inHandler = true;
  #noBody: (() => void) | undefined;
  #goes: AbortController | undefined;
  aborted = false;
  slot: InFlightSlot | undefined;
  route = 0;
  readonly #responded: EngineOptions['responded'];

  /** @param mustLeave closes the connection behind its answer. */
  constructor(
    res: HttpResponse,
    req: HttpRequest,
    mustLeave: boolean,
    responded: EngineOptions['responded'],
  ) {
    this.#res = res;
    this.#req = req;
    this.#mustLeave = mustLeave;
    this.#responded = responded;
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

  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    this.#watch();
    // It goes by the first; somebody on the way may have gone by another (request smuggling).
    if (this.#lengths() > 1) return Promise.reject(new DroverError('ambiguous_length'));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new DroverError('timeout')), timeoutMs);
      this.#noBody = () => {
        clearTimeout(timer);
        reject(new DroverError('timeout'));
      };
      const parts: Buffer[] = [];
      let size = 0;
      let isRefused = false;
      this.#res.onData((part, isLast) => {
        if (isRefused) return;
        size += part.byteLength;
        try {
          if (size > maxBytes) throw new DroverError('too_large');
          share.add(part.byteLength);
        } catch (thrown) {
          isRefused = true;
          clearTimeout(timer);
          parts.length = 0;
          reject(thrown);
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

  /** How many Content-Length headers there are. */
  #lengths(): number {
    let lengths = 0;
    this.#req.forEach((name) => {
      if (name === 'content-length') lengths += 1;
    });
    return lengths;
  }

  respond(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    this.#responded(this.route, response.status);
    // uWebSockets has corked the socket during the handler; after it we have to.
    if (this.#inHandler) this.#write(response);
    else this.#res.cork(() => this.#write(response));
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#done = true;
    this.#responded(this.route, 200);
    return new UwsStream(this.#res, headers, closed, writable);
  }

  /** The handler goes on after its synchronous part. */
  respondLater(pending: Promise<void>): void {
    this.#inHandler = false;
    if (!this.#done) this.#watch();
    pending.catch(() => this.respond(BROKEN));
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
   * writes `Connection: close` itself, and is the only one that closes the connection: a 204 then says `Content-Length: 0`,
   * and of a large body uWebSockets keeps what the client does not take at once, as this would.
   */
  #write({ status, headers, body, close: isLast }: Response): void {
    const close = isLast === true || this.#mustLeave;
    const res = this.#res;
    if (status !== 200) res.writeStatus(`${status} ${STATUS_CODES[status] ?? ''}`);
    writeHeaders(res, headers);
    if (this.method === 'HEAD' && !close) {
      if (body.length > 0) res.writeHeader('Content-Length', String(Buffer.byteLength(body)));
      res.endWithoutBody();
    } else if ((status === 204 || status === 304) && !close) {
      res.endWithoutBody();
    } else if (this.method !== 'HEAD' && body.length > MAX_CORKED_CHARACTERS && !close) {
      this.#writeLarge(typeof body === 'string' ? Buffer.from(body) : body);
    } else {
      res.end(this.method === 'HEAD' ? '' : body, close);
    }
  }

  /** A body that may not fit the cork buffer: sent as far as the client takes it, and then as it goes on. */
  #writeLarge(body: Uint8Array): void {
    this.#watch();
    const res = this.#res;
    const send = (from: number): boolean => {
      const rest = body.subarray(from) as Uint8Array<ArrayBuffer>;
      const [ok] = res.tryEnd(rest, body.length);
      return ok;
    };
    res.onWritable((offset) => send(offset));
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
  knowsAddresses: false,
  maxWriteBytes: MAX_CORKED_BYTES,
  create: (handler, fixed, options) => new UwsEngine(handler, fixed, options),
};
