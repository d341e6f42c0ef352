import { createHash } from 'node:crypto';
import { VERSION } from '../../shared/version.js';
import type { Exchange, Response } from '../engine/engine.js';
import { headersWith, SAFE_HEADERS } from '../engine/responses.js';
import { etagOf, matchesEtag } from '../http/etag.js';
import { openApiDocument } from './document.js';
import { referencePage, STYLE } from './page.js';

/** The page may use its own style, and load and run nothing else. */
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

/** The API's description, for programs and for people. */
export function describe() {
  const document = openApiDocument(VERSION);
  const json = new CachedResponse(JSON.stringify(document), [
    'Content-Type',
    'application/json',
    ...SAFE_HEADERS,
  ]);
  const page = new CachedResponse(referencePage(document), [
    'Content-Type',
    'text/html; charset=utf-8',
    ...headersWith('Content-Security-Policy', PAGE_POLICY),
  ]);
  return { json, page };
}

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
