// Pure; used by the fronts. Owns how results and errors become answers, and the headers that no answer goes without.

import { DroverError } from '../shared/errors.js';
import type { Response } from './engine/engine.js';

/**
 * On every answer: it is what its type says and nothing else, addresses (which may hold a token) go to no other site, and
 * opened as a page it may load and run nothing and stand in no frame.
 */
export const SAFE_HEADERS = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Content-Security-Policy',
  // connect-src: the developer tools of a page of ours, /health say, can open the stream (docs/GETTING-STARTED.md).
  "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
] as const;

/** The same with another value for one of them. */
export function headersWith(name: (typeof SAFE_HEADERS)[number], value: string): string[] {
  const headers: string[] = [...SAFE_HEADERS];
  headers[headers.indexOf(name) + 1] = value;
  return headers;
}

/**
 * On every file of the dashboard: it loads from here and nowhere else, runs no script and no style that stands in the page
 * itself, sends its data here only, and stands in no frame. Its workers get this policy with their own file.
 */
export const DASHBOARD_HEADERS = [
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Opener-Policy',
  'same-origin',
  'Cross-Origin-Resource-Policy',
  'same-origin',
  'Permissions-Policy',
  'camera=(), geolocation=(), microphone=()',
  'Content-Security-Policy',
  [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // The one policy that the page has is for the address of its worker (dashboard/src/hub/link.ts).
    "require-trusted-types-for 'script'",
    'trusted-types drover',
  ].join('; '),
] as const;
const JSON_HEADERS = ['Content-Type', 'application/json', ...SAFE_HEADERS] as const;
const SECRET_HEADERS = [...JSON_HEADERS, 'Cache-Control', 'no-store'] as const;

/** An answer with ready JSON. */
export function jsonResponse(body: string | Uint8Array, status = 200): Response {
  return { status, headers: JSON_HEADERS, body };
}

/** The same for what must not be kept by anybody on the way. */
export function secretResponse(body: string, status = 200): Response {
  return { status, headers: SECRET_HEADERS, body };
}

/** An answer without a body. */
export function emptyResponse(status: 204, headers: readonly string[] = []): Response {
  return { status, headers: [...SAFE_HEADERS, ...headers], body: '' };
}

/** The answer to an error: `{"error": message}` and nothing else in the body. */
export function errorResponse(thrown: unknown): Response {
  const error = thrown instanceof DroverError ? thrown : new DroverError('internal');
  const headers: string[] = [...JSON_HEADERS];
  if (error.status === 401 && error.code !== 'wrong_pin')
    headers.push('WWW-Authenticate', 'Bearer');
  if (error.retryAfterS !== undefined) headers.push('Retry-After', String(error.retryAfterS));
  return {
    status: error.status,
    headers,
    body: JSON.stringify({ error: error.message }),
    // The rest of the body is still on its way, or its end is not known.
    close: CLOSING.has(error.code),
  };
}

const CLOSING: ReadonlySet<string> = new Set([
  'ambiguous_length',
  'length_required',
  'too_large',
  'no_room',
  'timeout',
  'uri_too_long',
  'headers_too_large',
  'version_not_supported',
]);
