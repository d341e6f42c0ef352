// One injected request, which replaces an engine's exchange, and the front's response.

import { STATUS_CODES } from 'node:http';
import { Readable } from 'node:stream';
import type { BodyShare } from '../../src/front/engine/body-room.js';
import type { Exchange, Response, StreamSink } from '../../src/front/engine/engine.js';
import type { InFlightSlot } from '../../src/front/engine/in-flight-limiter.js';
import { RequestHead } from '../../src/front/engine/request-head.js';
import { DroverError } from '../../src/shared/errors.js';

export interface InjectedRequest {
  method: string;
  /** Path with its query. */
  target: string;
  headers?: Record<string, string>;
  body?: string | Buffer;
  /** Address of the client. Default 127.0.0.1. */
  address?: string;
}

/**
 * The response, as far as tests use an `http.IncomingMessage`: a readable with status and headers. A slow reader causes
 * backpressure, as a socket would.
 */
export class InjectedResponse extends Readable {
  readonly statusCode: number;
  readonly statusMessage: string;
  readonly headers: Record<string, string>;
  /** The body ended properly and was not cut. */
  complete = false;
  readonly #left: () => void;
  #drained = (): void => {};

  constructor(status: number, headers: readonly string[], left: () => void) {
    super({ emitClose: true });
    this.statusCode = status;
    this.statusMessage = STATUS_CODES[status] ?? '';
    this.headers = {};
    for (let at = 0; at < headers.length; at += 2) {
      const name = (headers[at] as string).toLowerCase();
      const value = headers[at + 1] as string;
      this.headers[name] = name in this.headers ? `${this.headers[name]}, ${value}` : value;
    }
    this.#left = left;
  }

  /** Ends the body. */
  finish(): void {
    this.complete = true;
    this.push(null);
  }

  /** Called when there is room again after push() has returned false. */
  onDrain(drained: () => void): void {
    this.#drained = drained;
  }

  override _read(): void {
    this.#drained();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#left();
    done(error);
  }
}

class InjectedSink implements StreamSink {
  readonly #response: InjectedResponse;
  #blocked = false;

  constructor(response: InjectedResponse, writable: () => void) {
    this.#response = response;
    response.onDrain(() => {
      if (!this.#blocked) return;
      this.#blocked = false;
      setImmediate(writable);
    });
  }

  write(bytes: Uint8Array): boolean {
    this.#blocked = !this.#response.push(Buffer.from(bytes));
    return !this.#blocked;
  }

  end(): void {
    this.#response.finish();
  }

  close(): void {
    this.#response.destroy();
  }
}

export class InjectedExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  readonly refusal: DroverError | undefined;
  aborted = false;
  slot: InFlightSlot | undefined;
  token: string | undefined;
  route = 0;
  /** Resolves with the head. The body follows. */
  readonly response: Promise<InjectedResponse>;
  readonly #headers: ReadonlyMap<string, string>;
  readonly #body: Buffer;
  readonly #gone = new AbortController();
  readonly #responded: (route: number, status: number) => void;
  #resolve: (response: InjectedResponse) => void = () => {};
  #done = false;

  constructor(request: InjectedRequest, responded: (route: number, status: number) => void) {
    const { method, target, headers = {}, body = '', address = '127.0.0.1' } = request;
    const at = target.indexOf('?');
    this.method = method;
    this.path = at === -1 ? target : target.slice(0, at);
    this.query = at === -1 ? '' : target.slice(at + 1);
    this.address = address;
    this.#headers = new Map(Object.entries(headers).map(([k, v]) => [k.toLowerCase(), v]));
    const head = new RequestHead();
    for (const [name, value] of this.#headers) head.add(name, value);
    if (!this.#headers.has('host')) head.add('host', '127.0.0.1');
    this.refusal = head.refusal(method);
    this.#body = Buffer.from(body);
    this.#responded = responded;
    this.response = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  headers(name: string): string[] {
    const value = this.#headers.get(name);
    return value === undefined ? [] : [value];
  }

  header(name: string): string {
    return this.#headers.get(name) ?? '';
  }

  async body(maxBytes: number, _timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    if (this.#body.length > maxBytes) throw new DroverError('too_large');
    share.add(this.#body.length);
    return this.#body;
  }

  gone(): AbortSignal {
    return this.#gone.signal;
  }

  onGone(left: () => void): void {
    if (this.aborted) left();
    else this.#gone.signal.addEventListener('abort', left, { once: true });
  }

  /** The client disconnects before its response. */
  leave(): void {
    if (this.#done) return;
    this.aborted = true;
    this.#done = true;
    this.#gone.abort();
  }

  respond({ status, headers, body }: Response): void {
    if (this.#done) return;
    this.#done = true;
    this.#responded(this.route, status);
    const bytes = Buffer.from(body);
    const isEmpty = status === 204 || status === 304;
    const length = isEmpty ? [] : ['Content-Length', String(bytes.length)];
    const response = new InjectedResponse(status, [...headers, ...length], () => {});
    if (!isEmpty && this.method !== 'HEAD') response.push(bytes);
    response.finish();
    this.#resolve(response);
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#done = true;
    this.#responded(this.route, 200);
    const response = new InjectedResponse(200, headers, () => {
      // As an engine does: not after end().
      if (!response.complete) closed();
    });
    this.#resolve(response);
    return new InjectedSink(response, writable);
  }
}
