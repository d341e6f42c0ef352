// Runs in a front thread. Owns the routes of the API's description. They are open: what the API is, is no secret.

import { createHash } from 'node:crypto';
import { VERSION } from '../../shared/version.js';
import { CachedResponse } from '../cached-response.js';
import type { OpenHandler } from '../front.js';
import { headersWith, SAFE_HEADERS } from '../responses.js';
import { openApiDocument } from './document.js';
import { referencePage, STYLE } from './page.js';

/** The page may have its own style, and load and run nothing. */
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function referenceRoutes(): Record<'GET /openapi.json' | 'GET /docs', OpenHandler> {
  // Made for the first who asks: no front needs it to start.
  let answers: { json: CachedResponse; page: CachedResponse } | undefined;
  const made = () => {
    answers ??= describe();
    return answers;
  };
  return {
    'GET /openapi.json': (exchange) => made().json.answer(exchange),
    'GET /docs': (exchange) => made().page.answer(exchange),
  };
}

function describe() {
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
