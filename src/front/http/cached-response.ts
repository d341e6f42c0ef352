import type { Exchange, Response } from '../engine/engine.js';
import { etagOf, matchesEtag } from './etag.js';

/** A response that never changes. A client that already has it gets 304. */
export class CachedResponse {
  readonly #whole: Response;
  readonly #unchanged: Response;
  readonly #tag: string;

  constructor(body: string, headers: readonly string[]) {
    const bytes = Buffer.from(body);
    this.#tag = etagOf(bytes);
    // Clients may cache it, but have to revalidate.
    const all = [...headers, 'Cache-Control', 'no-cache', 'ETag', this.#tag];
    this.#whole = { status: 200, headers: all, body: bytes };
    this.#unchanged = { status: 304, headers: all, body: '' };
  }

  /** @param noneMatch the request's header, read before the handler's first await. */
  respond(exchange: Exchange, noneMatch = exchange.header('if-none-match')): void {
    const hasIt = matchesEtag(noneMatch, this.#tag);
    exchange.respond(hasIt ? this.#unchanged : this.#whole);
  }
}
