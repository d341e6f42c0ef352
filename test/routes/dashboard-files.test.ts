// The files of the dashboard: encodings, caching and headers of `GET /` and `GET /assets/{file}`, in one process.

import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';

let service: InjectedService;
/** Paths that the page names. */
let script: string;
let paths: string[];
beforeAll(async () => {
  service = await inject();
  const { text: page } = await call(service, 'GET', '/', { token: null });
  // Relative: a proxy may serve the page under a path.
  paths = [...page.matchAll(/(?:src|href)="\.([^"]+)"/g)].map(([, path = '']) => path);
  script = paths.find((path) => path.endsWith('.js')) ?? '';
});
afterAll(() => service.close());

/** The body, decoded. */
async function get(
  target: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; headers: Headers; body: string }> {
  const response = await service.inject({ method: 'GET', target, headers });
  const bytes = Buffer.concat(await response.toArray());
  const encoding = response.headers['content-encoding'];
  const decoded =
    encoding === 'br'
      ? brotliDecompressSync(bytes)
      : encoding === 'gzip'
        ? gunzipSync(bytes)
        : bytes;
  return {
    status: response.statusCode,
    headers: new Headers(response.headers),
    body: decoded.toString(),
  };
}

describe('GET /', () => {
  it('is a page without a token, which names only files that are there', async () => {
    const page = await get('/');
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.body).toMatch(/^<!doctype html>/i);
    expect(paths.length).toBeGreaterThan(1);
    for (const path of paths) {
      expect(path).toMatch(/^\/assets\/[\w-]+-[\w-]{8}\.\w+$/);
      expect((await get(path)).status).toBe(200);
    }
  });

  it('has a policy that lets nothing run but its own files, and nothing from elsewhere load', async () => {
    const { headers, body } = await get('/');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|\*|https?:/);
    // The icon with a number is drawn.
    expect(policy.split('; ').filter((one) => one.includes('data:'))).toEqual([
      "img-src 'self' data:",
    ]);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect(headers.get('referrer-policy')).toBe('no-referrer');
    expect(body).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)/);
  });

  it('is revalidated each time, and 304 when it is the same', async () => {
    const first = await get('/', { 'accept-encoding': 'br' });
    expect(first.headers.get('cache-control')).toBe('no-cache');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]+"$/);
    for (const tag of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
      const same = await get('/', { 'accept-encoding': 'br', 'if-none-match': tag });
      expect([same.status, same.body, same.headers.get('etag')]).toEqual([304, '', etag]);
    }
    const other = await get('/', { 'accept-encoding': 'br', 'if-none-match': '"other"' });
    expect(other.status).toBe(200);
  });
});

describe('GET /assets/{file}', () => {
  it('may be cached for ever', async () => {
    const { headers } = await get(script);
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(headers.get('vary')).toContain('Accept-Encoding');
  });

  it('comes in the best encoding that is accepted, each with its own ETag', async () => {
    const plain = await get(script);
    expect(plain.headers.get('content-encoding')).toBeNull();
    const cases: [string, string | null][] = [
      ['br', 'br'],
      ['gzip', 'gzip'],
      ['gzip, deflate, br, zstd', 'br'],
      ['GZIP', 'gzip'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
      ['br;q=0.000, gzip ; q=0', null],
      ['identity', null],
      ['*', 'br'],
      ['br;q=0, *', 'gzip'],
      ['deflate', null],
      [';;,=,', null],
    ];
    const tags = new Map<string | null, string | null>();
    for (const [accepted, encoding] of cases) {
      const answer = await get(script, { 'accept-encoding': accepted });
      expect([accepted, answer.headers.get('content-encoding')]).toEqual([accepted, encoding]);
      expect(answer.body === plain.body, accepted).toBe(true);
      tags.set(encoding, answer.headers.get('etag'));
    }
    expect(new Set(tags.values()).size).toBe(3);
  });

  it('is 404 for every other name, also one that points elsewhere', async () => {
    for (const name of [
      'nope.js',
      '..%2Findex.html',
      '%2e%2e%2f%2e%2e%2fpackage.json',
      '__proto__',
      'constructor',
      '',
      `${script.split('/').at(-1)}.br`,
      'x/y',
    ]) {
      expectError(await call(service, 'GET', `/assets/${name}`), 404, 'not found');
    }
  });
});
