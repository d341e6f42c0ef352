// Decision "CORS" over sockets: the headers that every answer has, from whichever layer it comes. test/routes has the rules.

import { expect, it } from 'vitest';
import { raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';
import { get } from '../../harness/sse.js';

export const ORIGIN = 'https://dash.example';

/** Headers of an answer of each kind: one that an engine may give by itself, errors, no body, and a stream. */
async function answersOf(service: Service): Promise<[string, Record<string, unknown>][]> {
  const headers = { Origin: ORIGIN, Authorization: `Bearer ${await service.token()}` };
  const answers: [string, Record<string, unknown>][] = [];
  for (const [method, path] of [
    ['GET', '/health'],
    ['HEAD', '/health'],
    ['GET', '/api/bots'],
    ['GET', '/nope'],
    ['PUT', '/health'],
    ['OPTIONS', '/events'],
  ] as const) {
    const bytes = requestBytes(method, path, headers);
    const answer = await raw(service.port, bytes, { head: method === 'HEAD' });
    answers.push([`${method} ${path}`, answer.headers]);
  }
  const stream = await get(`${service.url}/events`, headers);
  stream.destroy();
  return [...answers, ['GET /events', stream.headers]];
}

export function securityHeaderTests(given: () => Service): void {
  it('every answer has the security headers, and no CORS header by default', async () => {
    for (const [name, headers] of await answersOf(given())) {
      expect(headers, name).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
        'content-security-policy': "default-src 'none'; connect-src 'self'; frame-ancestors 'none'",
      });
      expect(Object.keys(headers).filter((key) => key.startsWith('access-control'))).toEqual([]);
    }
  });
}

/** @param given a service whose `http.cors_origins` has {@link ORIGIN}. */
export function corsTests(given: () => Service): void {
  it('every answer may be read by a page of an origin in the list', async () => {
    for (const [name, headers] of await answersOf(given())) {
      expect(headers['access-control-allow-origin'], name).toBe(ORIGIN);
      expect(String(headers['vary']).split(', '), name).toContain('Origin');
    }
  });
}
