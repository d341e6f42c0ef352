import { createHash } from 'node:crypto';
import { VERSION } from '../../shared/version.js';
import { headersWith, SAFE_HEADERS } from '../engine/responses.js';
import { CachedResponse } from '../http/cached-response.js';
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
