// Decision "CORS": which pages of other origins may read the answers, and the headers that every answer has.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTE_NAMES } from '../../src/shared/routes.js';
import { type InjectedService, inject } from '../harness/inject.js';

const ALLOWED = ['https://dash.example', 'http://localhost:3000', 'tauri://localhost', 'null'];
const REFUSED = [
  'https://evil.example',
  'https://dash.example.evil.example',
  'http://dash.example',
];
const ROUTES = ROUTE_NAMES.map((name) => {
  const [method = '', path = ''] = name.split(' ');
  return { name, method, path: path.replace('{id}', 'nobody') };
});

let plain: InjectedService;
let open: InjectedService;
beforeAll(async () => {
  plain = await inject();
  open = await inject({ config: { http: { cors_origins: ALLOWED } } });
});
afterAll(async () => {
  await plain.close();
  await open.close();
});

type Headers = Record<string, string | undefined>;

/** Headers of every route's answer, with and without a token, and of paths that are no route. */
async function answersOf(
  service: InjectedService,
  headers: Record<string, string>,
): Promise<[string, Headers][]> {
  const authorized = { authorization: `Bearer ${await service.token()}` };
  const answers: [string, Headers][] = [];
  for (const { name, method, path } of [
    ...ROUTES,
    { name: 'GET /nope', method: 'GET', path: '/nope' },
    { name: 'PUT /health', method: 'PUT', path: '/health' },
    { name: 'HEAD /health', method: 'HEAD', path: '/health' },
    { name: 'OPTIONS /events', method: 'OPTIONS', path: '/events' },
  ]) {
    for (const more of [{}, authorized]) {
      const all = { ...headers, ...more };
      const response = await service.inject({ method, target: path, headers: all });
      response.destroy();
      answers.push([name, response.headers]);
    }
  }
  return answers;
}

describe('every answer', () => {
  it.each([
    ['without CORS', () => plain],
    ['with CORS', () => open],
  ])('has the security headers, %s', async (_, service) => {
    for (const [name, headers] of await answersOf(service(), {})) {
      expect(headers, name).toMatchObject({
        'x-content-type-options': 'nosniff',
        'referrer-policy': 'no-referrer',
      });
      const policy = headers['content-security-policy'] ?? '';
      // The page has one inline style and nothing else.
      if (name === 'GET /docs') {
        expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+';/);
        expect(policy).toMatch(/; frame-ancestors 'none'$/);
      } else if (name === 'GET /') {
        // The dashboard may load what is ours.
        expect(policy).toMatch(/^default-src 'none'; script-src 'self';/);
      } else {
        expect(policy).toBe("default-src 'none'; connect-src 'self'; frame-ancestors 'none'");
      }
    }
  });

  it('has no CORS header by default, for any origin', async () => {
    for (const origin of ['null', ...REFUSED]) {
      for (const [name, headers] of await answersOf(plain, { Origin: origin })) {
        const names = Object.keys(headers).filter((key) => key.startsWith('access-control'));
        expect(names, name).toEqual([]);
      }
    }
  });

  it.each(ALLOWED)('may be read by a page of %s when that is in the list', async (origin) => {
    for (const [name, headers] of await answersOf(open, { Origin: origin })) {
      expect(headers['access-control-allow-origin'], name).toBe(origin);
      expect(headers['vary']?.split(', '), name).toContain('Origin');
      expect(headers['access-control-allow-credentials'], name).toBeUndefined();
    }
  });

  it('may not be read by a page of another origin, nor kept for one', async () => {
    for (const origin of [undefined, ...REFUSED]) {
      for (const [name, headers] of await answersOf(open, origin ? { Origin: origin } : {})) {
        expect(headers['access-control-allow-origin'], name).toBeUndefined();
        expect(headers['vary']?.split(', '), name).toContain('Origin');
      }
    }
  });
});

describe('a preflight', () => {
  const ask = async (service: InjectedService, target: string, origin: string) => {
    const headers = {
      Origin: origin,
      'Access-Control-Request-Method': 'POST',
      'Access-Control-Request-Headers': 'authorization,content-type',
    };
    const response = await service.inject({ method: 'OPTIONS', target, headers });
    return { status: response.statusCode, headers: response.headers };
  };

  it('is answered with what a page may send', async () => {
    const answer = await ask(open, '/api/bots', 'https://dash.example');
    expect(answer.status).toBe(204);
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': 'https://dash.example',
      'access-control-allow-methods': 'GET, POST, HEAD, OPTIONS',
      'access-control-allow-headers': 'Authorization, Content-Type, Last-Event-ID',
      'access-control-max-age': '600',
    });
  });

  it('of another origin is answered without it, and so are all by default', async () => {
    for (const [service, origin] of [
      [open, 'https://evil.example'],
      [plain, 'https://dash.example'],
    ] as const) {
      const { status, headers } = await ask(service, '/api/bots', origin);
      expect(status).toBe(204);
      expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

it('an origin that no browser would send is refused at the start', async () => {
  for (const origin of ['*', 'dash.example', 'https://dash.example/', 'https://a, https://b', '']) {
    const start = inject({ config: { http: { cors_origins: [origin] } } });
    await expect(start).rejects.toThrow(/^[^\n]*http\.cors_origins[^\n]*$/);
  }
});
