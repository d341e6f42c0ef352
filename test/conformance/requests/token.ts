// docs/INTERFACE.md §2.3, §4 and §5.3 over sockets: the token in the header and in the query, GET /api-info, which echoes it,
// and the other operations that the interface names. test/routes/token.test.ts has the details.

import { beforeAll, expect, it } from 'vitest';
import { call, exchangePin, expectError } from '../../harness/api.js';
import { raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';
import { expectSnapshot } from '../../harness/shapes.js';

export function tokenTests(given: () => Service): void {
  let service: Service;
  /** A token that holds both characters of base64 that mean something else in a URL. */
  let token: string;
  beforeAll(async () => {
    service = given();
    do token = await exchangePin(service);
    while (!token.includes('+') || !token.includes('/'));
  });

  /** Sends the target as it is: fetch would normalise it. */
  const rawGet = (target: string, headers: Record<string, string> = {}) =>
    raw(service.port, requestBytes('GET', target, headers));

  it.each(['/api-info', '/events', '/api/bots', '/api/bots/only'])(
    '§4 GET %s needs a bearer token: without one, and with a wrong one, it is 401',
    async (target) => {
      for (const [answer, message] of [
        [await rawGet(target), 'missing token'],
        [await rawGet(target, { Authorization: `Bearer ${'A'.repeat(64)}` }), 'invalid token'],
        [await rawGet(`${target}?token=nonsense`), 'invalid token'],
      ] as const) {
        expectError(answer, 401, message);
        expect(answer.headers['www-authenticate']).toBe('Bearer');
      }
    },
  );

  it('§5.3 `authorization: Bearer <token>` is accepted, the header name in any case', async () => {
    for (const name of ['authorization', 'Authorization', 'AUTHORIZATION']) {
      expect((await rawGet('/api-info', { [name]: `Bearer ${token}` })).status).toBe(200);
    }
  });

  it('§5.3 `token=<token>` is accepted, URL-encoded or not', async () => {
    const hex = [...Buffer.from(token)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`);
    for (const sent of [encodeURIComponent(token), hex.join(''), token]) {
      const answer = await rawGet(`/api-info?a=1&token=${sent}&b=2`);
      expect([answer.status, answer.json()]).toEqual([200, { port: service.port, token }]);
    }
    for (const query of ['token=', 'token', 'token=%', 'token=%zz', 'token=%ff%fe']) {
      expectError(await rawGet(`/api-info?${query}`), 401);
    }
  });

  it('§2.3 gives `port` (the one it listens on) and `token` (the one that was sent), as JSON', async () => {
    const answer = await call(service, 'GET', '/api-info', { token });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(answer.json).toEqual({ port: service.port, token });
  });

  it('the header wins, also when it is bad and the query is good', async () => {
    const target = `/api-info?token=${encodeURIComponent(token)}`;
    expectError(await call(service, 'GET', target, { token: 'nonsense' }), 401, 'invalid token');
  });

  it('§4 GET /api/bots, GET /api/bots/{id} and POST /invoke answer with a token', async () => {
    const { bots } = (await call(service, 'GET', '/api/bots', { token })).json as {
      bots: unknown[];
    };
    expect(bots.map((bot) => expectSnapshot(bot).id)).toEqual(['only']);
    const one = await call(service, 'GET', '/api/bots/only', { token });
    expect(expectSnapshot(one.json).id).toBe('only');
    const body = { session_id: null, command: 'ping', args: {} };
    const answer = await call(service, 'POST', '/invoke', { token, body });
    expect([answer.status, answer.json]).toEqual([200, { result: 'pong' }]);
    const created = await call(service, 'POST', '/api/bots', {
      token,
      body: { id: 'new', kind: 'synthetic' },
    });
    expect(created.status).toBe(201);
    const deleted = await call(service, 'DELETE', '/api/bots/new', { token });
    expect([deleted.status, deleted.text]).toEqual([204, '']);
  });
}
