// More requests than may wait for main at one time: the surplus gets 503 with Retry-After, everything else works.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { act, create, FIXTURE_KINDS, invoke, remove } from '../harness/bots.js';
import { raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

const BOUND = 1024;
const SURPLUS = 176;
const OVERLOADED = 'too many requests are waiting for an answer, retry in 1s';

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      // Long enough to send all requests, even on a busy machine. The waiting requests end with this timeout.
      invoke: { timeout_ms: 20_000 },
      http: { max_requests_in_flight: BOUND },
    },
  });
});
afterAll(() => stopClean(service));

it('the surplus gets 503 with Retry-After, the others get their response, and requests that do not need main are served', async () => {
  for (const id of ['slow', 'stopped', 'deleted']) {
    expect((await create(service, { id, kind: 'faulty' })).status).toBe(201);
  }
  const headers = {
    Authorization: `Bearer ${await service.token()}`,
    'Content-Type': 'application/json',
    Connection: 'close',
  };
  const body = JSON.stringify({ session_id: 'slow', command: 'never', args: {} });
  const request = requestBytes('POST', '/invoke', headers, body);
  const statuses = new Map<number, number>();
  const answers = Array.from({ length: BOUND + SURPLUS }, async () => {
    const answer = await raw(service.port, request, { timeoutMs: 120_000 });
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
    return answer;
  });
  await expect.poll(() => statuses.get(503)).toBe(SURPLUS);
  expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
  expect((await call(service, 'GET', '/api/bots')).status).toBe(200);
  // Callers of bots must not delay any of these.
  const { id, token } = await makeToken(service, { name: 'to go', scopes: ['invoke'] });
  expect((await call(service, 'DELETE', `/api/tokens/${id}`)).status).toBe(204);
  expect((await call(service, 'GET', '/api-info', { token })).status).toBe(401);
  expect((await tryPin(service, service.pin)).status).toBe(200);
  expect((await call(service, 'POST', '/auth/ticket')).status).toBe(200);
  expect((await act(service, 'stopped', 'stop')).status).toBe(200);
  expect((await remove(service, 'deleted')).status).toBe(204);
  // It responds, whether resources are short or not.
  expect((await call(service, 'GET', '/api/pressure')).json).toHaveProperty('short');
  const refused = await invoke(service, null, 'ping');
  expectError(refused, 503, OVERLOADED);
  expect(refused.headers.get('retry-after')).toBe('1');
  await Promise.all(answers);
  expect(Object.fromEntries(statuses)).toEqual({ 503: SURPLUS, 504: BOUND });
  expect((await invoke(service, null, 'ping')).json).toEqual({ result: 'pong' });
});
