// Runs in a front thread. Owns what is done to every answer of one request when CORS or the access log are on; without
// them requests go their way undressed.

import type { BodyShare } from './body-room.js';
import type { Exchange, Response, StreamSink } from './engine/engine.js';
import type { InFlightSlot } from './in-flight-limiter.js';

export interface Dress {
  /** Added to the headers of whatever answer there is. */
  headers: readonly string[];
  /** Called once, with the status. */
  answered: (exchange: Exchange, status: number) => void;
}

export class ExchangeDecorator implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly address: string;
  readonly #inner: Exchange;
  readonly #dress: Dress;
  turn: InFlightSlot | undefined;
  #answered = false;

  constructor(inner: Exchange, dress: Dress) {
    this.#inner = inner;
    this.#dress = dress;
    // Now: the engine has the request's head only until the handler's first await.
    this.method = inner.method;
    this.path = inner.path;
    this.query = inner.query;
    this.address = inner.address;
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

  body(maxBytes: number, timeoutMs: number, share: BodyShare): Promise<Uint8Array> {
    return this.#inner.body(maxBytes, timeoutMs, share);
  }

  gone(): AbortSignal {
    return this.#inner.gone();
  }

  answer(answer: Response): void {
    this.#tell(answer.status);
    this.#inner.answer({ ...answer, headers: [...answer.headers, ...this.#dress.headers] });
  }

  stream(headers: readonly string[], closed: () => void, writable: () => void): StreamSink {
    this.#tell(200);
    return this.#inner.stream([...headers, ...this.#dress.headers], closed, writable);
  }

  #tell(status: number): void {
    if (this.#answered) return;
    this.#answered = true;
    this.#dress.answered(this, status);
  }
}
