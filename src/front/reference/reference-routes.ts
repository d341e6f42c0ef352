import { createHash } from 'node:crypto';
import { lazy } from '../../shared/lazy.js';
import { VERSION } from '../../shared/version.js';
import { CachedResponse } from '../cached-response.js';
import type { OpenHandler } from '../handlers.js';
import { headersWith, SAFE_HEADERS } from '../responses.js';
import { openApiDocument } from './document.js';
import { referencePage, STYLE } from './page.js';

/** The page may use its own style, and load and run nothing else. */
const PAGE_POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`;

export function referenceRoutes(): Record<'GET /openapi.json' | 'GET /docs', OpenHandler> {
  // Built for the first request: a front starts without it.
  const responses = lazy(describe);
  return {
    'GET /openapi.json': (exchange) => responses().json.respond(exchange),
    'GET /docs': (exchange) => responses().page.respond(exchange),
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
