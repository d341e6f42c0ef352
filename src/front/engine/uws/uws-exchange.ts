import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import type { Deadlines } from '../../../shared/deadlines.js';
import { DroverError } from '../../../shared/errors.js';
import type { BodyShare } from '../body-room.js';
import { BROKEN } from '../broken.js';
import type { EngineOptions, Exchange, Response, StreamSink } from '../engine.js';
import type { InFlightSlot } from '../in-flight-limiter.js';
import type { RequestHead } from '../request-head.js';
import { statusLine } from '../status-line.js';
import { UsualHeaders } from './uws-headers.js';
import { UwsStream } from './uws-stream.js';

/** A body of at most this many characters fits the cork buffer with its headers, at any UTF-8 length. */
const MAX_CORKED_CHARACTERS = 5_000;

const usualHeaders = new UsualHeaders();

/** The deadlines of all bodies that may take this long, in ms. */
export type BodyDeadlines = (timeoutMs: number) => Deadlines<() => void>;

/** Runs in a front thread. Owns one request on uWebSockets.js and its response. */
export class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly #res: HttpResponse;
  readonly #req: HttpRequest;
  readonly refusal: DroverError | undefined;
  /** Whether the connection is closed after the response. */
  readonly #isLast: boolean;
  /** Whether this class has to close it, because uWebSockets does not. */
  readonly #mustClose: boolean;
  #address: string | undefined;
  /** Responded, streaming or aborted. uWebSockets throws if the response is used after that. */
  #done = false;
  #watched = false;
  #inHandler = true;
  #noBody: (() => void) | undefined;
  #goes: AbortController | undefined;
  #left: (() => void) | undefined;
  aborted = false;
  slot: InFlightSlot | undefined;
  token: string | undefined;
  route = 0;
  readonly #responded: EngineOptions['responded'];
  readonly #deadlinesOf: BodyDeadlines;

  /** @param mustLeave closes the connection after the response. */
  constructor(
    res: HttpResponse,
    req: HttpRequest,
    head: RequestHead,
    mustLeave: boolean,
    responded: EngineOptions['responded'],
    deadlinesOf: BodyDeadlines,
  ) {
    this.#deadlinesOf = deadlinesOf;
    this.#res = res;
    this.#req = req;
    this.#responded = responded;
    this.method = req.getCaseSensitiveMethod();
    this.refusal = head.refusal(this.method);
    // The reader of uWebSockets takes extensions and trailers of chunks for other chunks and requests.
    this.#mustClose = mustLeave || head.isChunked || (head.isLast && !isPlainClose(head));
    this.#isLast = this.#mustClose || head.isLast;
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

  headers(name: string): string[] {
    const values: string[] = [];
    this.#req.forEach((key, value) => {
      if (key === name) values.push(value);
    });
    return values;
  }

  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    this.#watch();
    return new Promise((resolve, reject) => {
      const deadlines = this.#deadlinesOf(timeoutMs);
      const late = (): void => reject(new DroverError('timeout'));
      deadlines.add(late);
      const settle = (): void => deadlines.remove(late);
      this.#noBody = () => {
        settle();
        late();
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
          settle();
          parts.length = 0;
          reject(thrown);
          return;
        }
        // A copy, because the memory is invalid after this callback. It is in Node's pool, because an ArrayBuffer for
        // each piece costs more than its bytes.
        parts.push(Buffer.from(new Uint8Array(part)));
        if (!isLast) return;
        settle();
        resolve(parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts, size));
      });
    });
  }

  gone(): AbortSignal {
    this.#goes ??= new AbortController();
    if (this.aborted) this.#goes.abort();
    else if (!this.#done) this.#watch();
    return this.#goes.signal;
  }

  onGone(left: () => void): void {
    if (this.aborted) left();
    else if (!this.#done) {
      this.#left = left;
      this.#watch();
    }
  }

  respond(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    this.#responded(this.route, response.status);
    const close = response.close === true || this.#mustClose;
    if (close || this.#isLast) this.#respondLast(response, close);
    // uWebSockets corks the socket during the handler; later writes have to cork it themselves.
    else if (this.#inHandler) this.#write(response, false);
    else this.#res.cork(() => this.#write(response, false));
  }

  /**
   * Responds in a later turn of the event loop, when all that has arrived with the request is parsed. Until then the response
   * is pending, and uWebSockets closes a connection on which a further request comes; after it, it would respond to that.
   */
  #respondLast(response: Response, close: boolean): void {
    this.#watch();
    setImmediate(() => {
      if (!this.aborted) this.#res.cork(() => this.#write(response, close));
    });
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#done = true;
    this.#responded(this.route, 200);
    return new UwsStream(this.#res, headers, closed, writable);
  }

  /** The handler is asynchronous. */
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
      this.#left?.();
    });
  }

  /**
   * endWithoutBody() is called without arguments: with a length the old binary does not notice that the response is over
   * (and aborts the process), and without one but with a second argument it writes 2^63. end() with its second argument
   * writes `Connection: close` itself, and is the only one that closes the connection: a 204 then says `Content-Length: 0`,
   * and of a large body uWebSockets keeps what the client does not take at once, as this would.
   */
  #write({ status, headers, body }: Response, close: boolean): void {
    const res = this.#res;
    if (status !== 200) res.writeStatus(statusLine(status));
    usualHeaders.write(res, headers);
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

  /** For a body that may not fit the cork buffer: sends what the socket takes, and the rest when it is writable. */
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

/** uWebSockets closes the connection after the response to such a request. */
function isPlainClose({ connection }: RequestHead): boolean {
  return connection.length === 'close'.length;
}
