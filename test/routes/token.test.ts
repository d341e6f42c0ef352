// docs/INTERFACE.md §5.3 and §2.3: the token in the header and in the query, and GET /api-info, which echoes it.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, exchangePin, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';

let service: InjectedService;
let token: string;
/** A token that holds both characters of base64 that mean something else in a URL. */
let awkward: string;

beforeAll(async () => {
  service = await inject();
  token = await service.token();
  do awkward = await exchangePin(service);
  while (!awkward.includes('+') || !awkward.includes('/'));
});
afterAll(() => service.close());

const get = (target: string, headers: Record<string, string> = {}) =>
  call(service, 'GET', target, { token: null, headers });

const PROTECTED = [
  ['GET', '/api-info'],
  ['GET', '/events'],
  ['GET', '/api/bots'],
  ['POST', '/api/bots'],
  ['GET', '/api/bots/some-bot'],
  ['DELETE', '/api/bots/some-bot'],
  ['POST', '/invoke'],
] as const;

describe.each(PROTECTED)('%s %s', (method, target) => {
  const body = method === 'POST' ? { session_id: null, command: 'ping', args: {} } : undefined;

  it('§4 needs a bearer token: without one 401 `missing token`', async () => {
    const answer = await call(service, method, target, { token: null, body });
    expectError(answer, 401, 'missing token');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('§4 needs a good token: a wrong one in the header is 401 `invalid token`', async () => {
    const answer = await call(service, method, target, { token: 'A'.repeat(64), body });
    expectError(answer, 401, 'invalid token');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('§4 needs a good token: a wrong one in the query is 401 `invalid token`', async () => {
    const answer = await call(service, method, `${target}?token=nonsense`, { token: null, body });
    expectError(answer, 401, 'invalid token');
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
  });
});

describe('in the header', () => {
  it('§5.3 `authorization: Bearer <token>` is accepted, the header name in any case', async () => {
    for (const name of ['authorization', 'Authorization', 'AUTHORIZATION']) {
      const answer = await get('/api-info', { [name]: `Bearer ${token}` });
      expect(answer.status).toBe(200);
    }
  });

  it('§5.3 near misses of a token are refused', async () => {
    const swapped = token.startsWith('A') ? `B${token.slice(1)}` : `A${token.slice(1)}`;
    for (const near of [
      token.slice(0, -1),
      `${token}A`,
      `${token}=`,
      swapped,
      token.toLowerCase(),
    ]) {
      expectError(await call(service, 'GET', '/api-info', { token: near }), 401, 'invalid token');
    }
  });

  it('§5.3 another scheme or a bare token is no bearer token', async () => {
    for (const authorization of [`Basic ${token}`, token, 'Bearer', `Bearer${token}`]) {
      expectError(await call(service, 'GET', '/api-info', { headers: { authorization } }), 401);
    }
  });

  it('§5.2 the PIN itself is no token', async () => {
    expectError(
      await call(service, 'GET', '/api-info', { token: service.pin }),
      401,
      'invalid token',
    );
  });
});

describe('in the query', () => {
  it('§5.3 `token=<token>` URL-encoded is accepted', async () => {
    for (const one of [token, awkward]) {
      const answer = await get(`/api-info?token=${encodeURIComponent(one)}`);
      expect(answer.status).toBe(200);
      expect(answer.json).toEqual({ port: service.port, token: one });
    }
  });

  it('§5.3 `token=<token>` is accepted with every character percent-encoded', async () => {
    const hex = [...Buffer.from(awkward)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
    for (const encoded of [hex.join(''), hex.join('').toUpperCase()]) {
      expect((await get(`/api-info?token=${encoded}`)).json).toMatchObject({ token: awkward });
    }
  });

  it('§5.3 "should be URL-encoded": an unencoded `+`, `/` works too', async () => {
    expect((await get(`/api-info?token=${awkward}`)).json).toMatchObject({ token: awkward });
  });

  it('§5.3 "should be URL-encoded": a `+` that arrives as a space works too', async () => {
    const spaced = awkward.replaceAll('+', '%20').replaceAll('/', '%2F');
    expect((await get(`/api-info?token=${spaced}`)).json).toMatchObject({ token: awkward });
  });

  it('§5.3 `token` is found among other parameters', async () => {
    const encoded = encodeURIComponent(token);
    expect((await get(`/api-info?a=1&token=${encoded}&b=2`)).status).toBe(200);
    expectError(await get(`/api-info?xtoken=${encoded}`), 401, 'missing token');
  });

  it('§5.3 an empty or broken `token` is refused, not a crash', async () => {
    for (const query of [
      'token=',
      'token',
      'token=%',
      'token=%zz',
      'token=%ff%fe',
      `token=${'A'.repeat(3000)}`,
    ]) {
      expectError(await get(`/api-info?${query}`), 401);
    }
    expect((await get(`/api-info?token=${encodeURIComponent(token)}`)).status).toBe(200);
  });
});

describe('in both', () => {
  it('the header wins when it is good and the query is not', async () => {
    const answer = await call(service, 'GET', '/api-info?token=nonsense', { token });
    expect(answer.json).toMatchObject({ token });
  });

  it('the header wins when it is bad and the query is good', async () => {
    const target = `/api-info?token=${encodeURIComponent(token)}`;
    expectError(await call(service, 'GET', target, { token: 'nonsense' }), 401, 'invalid token');
  });

  it('of two good ones the header counts', async () => {
    const target = `/api-info?token=${encodeURIComponent(awkward)}`;
    expect((await call(service, 'GET', target, { token })).json).toMatchObject({ token });
  });
});

describe('GET /api-info', () => {
  it('§2.3 gives `port` (the one it listens on) and `token` (the one that was sent), as JSON', async () => {
    const answer = await call(service, 'GET', '/api-info');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(answer.json).toEqual({ port: service.port, token });
  });

  it('§2.3 echoes each caller its own token', async () => {
    const answers = await Promise.all(
      [token, awkward].map((one) => call(service, 'GET', '/api-info', { token: one })),
    );
    expect(answers.map((answer) => (answer.json as { token: string }).token)).toEqual([
      token,
      awkward,
    ]);
  });
});

it('§5.3 with two fronts a token made on one is good on all at once', async () => {
  const pair = await inject({ fronts: 2 });
  for (let round = 0; round < 5; round++) {
    const fresh = await exchangePin(pair);
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => call(pair, 'GET', '/api-info', { token: fresh })),
    );
    for (const { json } of answers) expect(json).toEqual({ port: pair.port, token: fresh });
  }
});

it('§3 tokens of another data directory are not accepted', async () => {
  const stranger = await inject();
  expectError(await call(stranger, 'GET', '/api-info', { token }), 401, 'invalid token');
});
