import type { IncomingMessage, ServerResponse } from 'node:http';
import { DroverError } from '../../../shared/errors.js';
import type { BodyShare } from '../body-room.js';
import { BROKEN } from '../broken.js';
import type { EngineOptions, Exchange, Response, StreamSink } from '../engine.js';
import type { InFlightSlot } from '../in-flight-limiter.js';
import { NodeStream } from './node-stream.js';
import { headRefusal } from './refusals.js';

/**
 * How long to read from a connection before closing it, in ms: closing it with unread bytes would reset it, and the client
 * could lose the response.
 */
export const LINGER_MS = 1000;

/** Runs in a front thread. Owns one request on node:http and its response. */
export class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly refusal: DroverError | undefined;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #idleTimeoutMs: number;
  /** The client waits for `100 Continue` before it sends its body. */
  readonly #expectsContinue: boolean;
  #goes: AbortController | undefined;
  #left: (() => void) | undefined;
  #done = false;
  #isClosing = false;
  #isStream = false;
  /** Length of the response's body. */
  bytes = 0;
  aborted = false;
  slot: InFlightSlot | undefined;
  token: string | undefined;
  route = 0;
  readonly #responded: EngineOptions['responded'];
  readonly #settled: () => void;

  /** @param settled is called when {@link responded} has changed. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    { idleTimeoutMs, responded }: EngineOptions,
    expectsContinue: boolean,
    settled: () => void,
  ) {
    this.#settled = settled;
    this.#responded = responded;
    this.#request = request;
    this.#response = response;
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#expectsContinue = expectsContinue;
    this.method = request.method ?? '';
    this.refusal = headRefusal(request);
    const target = targetOf(request.url ?? '');
    const at = target.indexOf('?');
    this.path = at === -1 ? target : target.slice(0, at);
    this.query = at === -1 ? '' : target.slice(at + 1);
  }

  get address(): string {
    return this.#request.socket.remoteAddress ?? '';
  }

  /** Whether the response is complete; `closing` if the connection is closed after it, `streaming` if it has no end yet. */
  get responded(): 'no' | 'yes' | 'closing' | 'streaming' {
    if (this.#isClosing) return 'closing';
    if (this.#response.writableEnded) return 'yes';
    return this.#isStream ? 'streaming' : 'no';
  }

  /** The request has arrived with its body. */
  get isComplete(): boolean {
    return this.#request.complete;
  }

  /** Stops waiting for the rest of a request whose response closes the connection. */
  endLinger(): void {
    this.#response.end();
  }

  /** The system has accepted the response. */
  get isSent(): boolean {
    return this.#response.writableFinished;
  }

  /** Calls `then` when the system has accepted the response, or at once if it already has. */
  whenSent(then: () => void): void {
    if (this.isSent) then();
    else this.#response.once('finish', then);
  }

  header(name: string): string {
    // The first of several, as with uWebSockets.js; `headers` would join them.
    return this.#request.headersDistinct[name]?.[0] ?? '';
  }

  headers(name: string): string[] {
    return this.#request.headersDistinct[name] ?? [];
  }

  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    const request = this.#request;
    if (this.#expectsContinue) this.#response.writeContinue();
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      let size = 0;
      const settle = (): void => {
        clearTimeout(timer);
        request.off('data', take).off('end', end).off('close', gone);
      };
      const gone = (): void => {
        settle();
        reject(new DroverError('timeout'));
      };
      const take = (part: Buffer): void => {
        size += part.length;
        try {
          if (size > maxBytes) throw new DroverError('too_large');
          share.add(part.length);
          parts.push(part);
        } catch (thrown) {
          settle();
          reject(thrown);
        }
      };
      const end = (): void => {
        settle();
        resolve(Buffer.concat(parts, size));
      };
      const timer = setTimeout(gone, timeoutMs);
      request.on('data', take).on('end', end).on('close', gone);
    });
  }

  gone(): AbortSignal {
    this.#goes ??= new AbortController();
    if (this.aborted) this.#goes.abort();
    return this.#goes.signal;
  }

  onGone(left: () => void): void {
    if (this.aborted) left();
    else this.#left = left;
  }

  respond(response: Response): void {
    if (this.#done) return;
    this.#done = true;
    this.#request.socket.off('close', this.#gone);
    this.#responded(this.route, response.status);
    this.#write(response);
    if (!this.#response.writableFinished) {
      this.#response.setTimeout(this.#idleTimeoutMs, () => this.#request.socket.destroy());
    }
    this.#settled();
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#done = true;
    this.#request.socket.off('close', this.#gone);
    this.#isStream = true;
    this.#responded(this.route, 200);
    const stream = new NodeStream(this.#response, headers, closed, writable);
    this.#settled();
    return stream;
  }

  /** The handler is asynchronous. */
  respondLater(pending: Promise<void>): void {
    if (!this.#done) this.#request.socket.once('close', this.#gone);
    pending.catch(() => this.respond(BROKEN));
  }

  readonly #gone = (): void => {
    this.aborted = true;
    this.#done = true;
    this.#goes?.abort();
    this.#left?.();
  };

  #write({ status, headers, body, close = false }: Response): void {
    const response = this.#response;
    const isHead = this.method === 'HEAD';
    const all = [...headers];
    this.bytes = body.length;
    const isEmpty = status === 204 || status === 304;
    if (!isEmpty && !(isHead && body.length === 0)) {
      all.push('Content-Length', String(Buffer.byteLength(body)));
    }
    if (close) all.push('Connection', 'close');
    this.#isClosing = close;
    response.writeHead(status, all);
    if (isHead || isEmpty) {
      response.end();
    } else if (close && !this.#request.complete) {
      response.write(body);
      this.#linger();
    } else {
      response.end(body);
    }
  }

  /** The response is sent; closes the connection when the client has sent everything, or after a while. */
  #linger(): void {
    const end = (): void => {
      clearTimeout(timer);
      this.#response.end();
    };
    const timer = setTimeout(end, LINGER_MS);
    this.#request.once('end', end).once('close', end).resume();
  }
}

/** `http://host` before a path is allowed, and means nothing to a server that is no proxy (RFC 9112 §3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?]*/i;

/** Path and query. Node's parser lets no bytes over 127 through here. */
function targetOf(url: string): string {
  if (url.startsWith('/')) return url;
  const target = url.replace(ABSOLUTE, '');
  return target.startsWith('/') ? target : `/${target}`;
}
