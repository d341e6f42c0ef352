import type { DroverError } from '../../shared/errors.js';
import type { BodyShare } from '../engine/body-room.js';
import type { Exchange, Response, StreamSink } from '../engine/engine.js';
import type { InFlightSlot } from '../engine/in-flight-limiter.js';
import type { Scheme } from '../http/forwarded.js';
import type { Client } from './clients.js';

export interface Decoration {
  /** Address and scheme of the client. */
  client: Client;
  /** Added to the headers of the response. */
  headers: readonly string[];
  /** Called once, with the status. A stream reports 200 when it starts. */
  responded: (exchange: ExchangeDecorator, status: number) => void;
}

/**
 * An exchange while CORS, the access log or TLS is on, or proxies are trusted: has the client's address, adds headers to the
 * response and reports the status.
 */
export class ExchangeDecorator implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  readonly scheme: Scheme;
  readonly refusal: DroverError | undefined;
  readonly #inner: Exchange;
  readonly #decoration: Decoration;
  slot: InFlightSlot | undefined;
  token: string | undefined;
  #hasResponded = false;

  constructor(inner: Exchange, decoration: Decoration) {
    this.#inner = inner;
    this.#decoration = decoration;
    // Copied now: the engine has the request's head only until the handler's first await.
    this.method = inner.method;
    this.path = inner.path;
    this.query = inner.query;
    this.address = decoration.client.address;
    this.scheme = decoration.client.scheme;
    this.refusal = inner.refusal;
  }

  get route(): number {
    return this.#inner.route;
  }

  set route(route: number) {
    this.#inner.route = route;
  }

  get aborted(): boolean {
    return this.#inner.aborted;
  }

  header(name: string): string {
    return this.#inner.header(name);
  }

  headers(name: string): string[] {
    return this.#inner.headers(name);
  }

  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    return this.#inner.body(maxBytes, timeoutMs, share);
  }

  gone(): AbortSignal {
    return this.#inner.gone();
  }

  onGone(left: () => void): void {
    this.#inner.onGone(left);
  }

  respond(response: Response): void {
    this.#report(response.status);
    this.#inner.respond({
      ...response,
      headers: [...response.headers, ...this.#decoration.headers],
    });
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#report(200);
    return this.#inner.stream([...headers, ...this.#decoration.headers], closed, writable);
  }

  #report(status: number): void {
    if (this.#hasResponded) return;
    this.#hasResponded = true;
    this.#decoration.responded(this, status);
  }
}
