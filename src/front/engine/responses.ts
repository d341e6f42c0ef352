import { DroverError } from '../../shared/errors.js';
import type { Response } from './engine.js';

/**
 * On every response: browsers trust its media type, send its URL (which may contain a token) to no other site, and let it
 * load nothing, run nothing and be framed nowhere.
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

/** SAFE_HEADERS with another value for one of them. */
export function headersWith(name: (typeof SAFE_HEADERS)[number], value: string): string[] {
  const headers: string[] = [...SAFE_HEADERS];
  headers[headers.indexOf(name) + 1] = value;
  return headers;
}

/**
 * On every file of the dashboard: it loads from and connects to this origin only, runs no inline scripts or styles, and
 * cannot be framed. Workers get this policy with their own file.
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
    // data: the badge in the icon of the tab is drawn (dashboard/src/problems/badge.ts).
    "img-src 'self' data:",
    "font-src 'self'",
    "worker-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    // The page's one Trusted Types policy is for the URLs of its workers (dashboard/src/hub/script-url.ts).
    "require-trusted-types-for 'script'",
    'trusted-types drover',
  ].join('; '),
] as const;
const DAY_S = 86_400;

/** Tells browsers to use only HTTPS for this host name (RFC 6797). They ignore it for addresses, and from untrusted certificates. */
export function hstsHeaders(maxAgeDays: number): readonly string[] {
  return ['Strict-Transport-Security', `max-age=${maxAgeDays * DAY_S}`];
}

const JSON_HEADERS = ['Content-Type', 'application/json', ...SAFE_HEADERS] as const;
const SECRET_HEADERS = [...JSON_HEADERS, 'Cache-Control', 'no-store'] as const;

export function jsonResponse(body: string | Uint8Array, status = 200): Response {
  return { status, headers: JSON_HEADERS, body };
}

/** JSON that no cache may store. */
export function secretResponse(body: string, status = 200): Response {
  return { status, headers: SECRET_HEADERS, body };
}

export function emptyResponse(status: 204, headers: readonly string[] = []): Response {
  return { status, headers: [...SAFE_HEADERS, ...headers], body: '' };
}

/** `{"error": message}`. Anything but a DroverError is `internal`, without details. */
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
    // The rest of the body is still arriving, or its end is unknown.
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
