// interface-seed §4, GET /health.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, tryPin } from '../harness/api.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService({ config: { pin: { capacity: 1, refill_per_minute: 1 } } });
});
afterAll(() => stopClean(service));

it('§4 GET /health answers 200 text/plain "ok" without credentials', async () => {
  const answer = await call(service, 'GET', '/health', { token: null });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toMatch(/^text\/plain(;|$)/);
  expect(answer.text).toBe('ok');
});

it('§4 GET /health needs no header but Host', async () => {
  const answer = await raw(service.port, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  expect([answer.status, answer.body]).toEqual([200, 'ok']);
});

it('§5.4 GET /health does not look at a token: a wrong one changes nothing', async () => {
  const inHeader = await call(service, 'GET', '/health', { token: 'nonsense' });
  const inQuery = await call(service, 'GET', '/health?token=nonsense', { token: null });
  expect([inHeader.status, inHeader.text]).toEqual([200, 'ok']);
  expect([inQuery.status, inQuery.text]).toEqual([200, 'ok']);
});

it('§4 GET /health serves monitors that keep a connection and that pipeline', async () => {
  const two = Buffer.concat([requestBytes('GET', '/health'), requestBytes('GET', '/health')]);
  const connection = await RawConnection.open(service.port);
  try {
    await connection.send(two);
    expect((await connection.response()).body).toBe('ok');
    expect((await connection.response()).body).toBe('ok');
    await connection.send(requestBytes('GET', '/health'));
    expect((await connection.response()).body).toBe('ok');
  } finally {
    connection.close();
  }
});

it('§4 GET /health stays "ok" while the PIN exchange is locked', async () => {
  await tryPin(service, 'wrong');
  expect((await tryPin(service, 'wrong')).status).toBe(429);
  const answer = await call(service, 'GET', '/health', { token: null });
  expect([answer.status, answer.text]).toEqual([200, 'ok']);
});
