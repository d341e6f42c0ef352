// What a service refuses that has little room, on one service with four fronts: streams, and PINs
// (docs/INTERFACE.md §2.1, §2.2, §4 POST /auth/pin and §8). Pages of a listed origin can read its answers.
// test/routes has the details.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { watch } from '../harness/bots.js';
import { raw, requestBytes } from '../harness/http.js';
import { expectNothingShort, expectStreamsShort } from '../harness/pressure.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';
import { corsTests, ORIGIN } from './requests/security-headers.js';

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      http: { cors_origins: [ORIGIN] },
      pin: { capacity: 12, refill_per_minute: 1 },
      bots: [{ id: 'only', kind: 'synthetic', config: { events_per_second: 50 } }],
      pressure: { max_bots: 50 },
      stream: { max_streams: 2 },
    },
    args: frontFlags(4),
  });
});
afterAll(() => stopClean(service));

it('says what runs, what may run, and what is short: streams when there is room for no more, and then again not', async () => {
  const first = await watch(service);
  await expectNothingShort(service, { maxStreams: 2, journal: 'on' });
  const second = await watch(service);
  await expectStreamsShort(service, first);
  const third = await watch(service);
  for (const stream of [second, third]) stream.close();
});

corsTests(() => service);

// From here on no PIN is accepted.
it('§8.1, §8.2 the bucket is one per process: on 4 fronts exactly 12 of 80 wrong PINs are 401, then the right one is 429', async () => {
  const right = await tryPin(service, service.pin);
  expect(right.status).toBe(200);
  expect(Object.keys(right.json as object)).toEqual(['token']);
  const { token } = right.json as { token: string };
  expect(Buffer.from(token, 'base64')).toHaveLength(48);

  const attempt = (n: number, pin: string) => {
    const headers = { 'Content-Type': 'application/json' };
    const localAddress = process.platform === 'linux' ? `127.0.0.${2 + (n % 40)}` : '127.0.0.1';
    const bytes = requestBytes('POST', '/auth/pin', headers, JSON.stringify({ pin }));
    return raw(service.port, bytes, { localAddress });
  };
  const wrong = (n: number): string =>
    String((Number(service.pin) + n + 1) % 1_000_000).padStart(6, '0');
  const answers = await Promise.all(Array.from({ length: 80 }, (_, n) => attempt(n, wrong(n))));
  const refused = answers.filter(({ status }) => status === 401);
  expect(refused).toHaveLength(12);
  for (const answer of refused) expectError(answer, 401, 'wrong pin');
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(68);
  for (let n = 0; n < 40; n++) {
    const locked = await attempt(n, service.pin);
    const seconds = locked.headers['retry-after'];
    expectError(locked, 429, `locked, retry in ${seconds}s`);
    expect(Number(seconds)).toBeGreaterThan(0);
  }
  expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
});

it('§4 GET /health stays "ok" while the PIN exchange is locked', async () => {
  expect((await tryPin(service, 'wrong')).status).toBe(429);
  const answer = await call(service, 'GET', '/health', { token: null });
  expect([answer.status, answer.text]).toEqual([200, 'ok']);
});
